#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "comm/flight_recorder/flight_file.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"

namespace lockstep::comm {
namespace {

// Up to the first zero.
template <std::size_t kBytes>
std::string text_of(const std::array<char, kBytes>& bytes) {
  return {bytes.data(), static_cast<std::size_t>(std::ranges::find(bytes, '\0') - bytes.begin())};
}

FlightEntry to_entry(const FlightSlot& slot) {
  FlightEntry entry;
  entry.group = slot.group;
  entry.fingerprint = from_tag(slot.sequence, slot.tag);
  const std::string words = text_of(slot.call_tag);  // incomplete if the rank was killed while writing
  if (CallTag::is_possible(words) && CallTag(words) == entry.fingerprint.tag) entry.fingerprint.tag = CallTag(words);
  entry.state = static_cast<FlightState>(slot.state);
  entry.file = text_of(slot.file);
  entry.line = slot.line;
  entry.issued_ns = slot.issued_ns;
  entry.started_ns = slot.started_ns;
  entry.ended_ns = slot.ended_ns;
  return entry;
}

}  // namespace

std::string_view name_of(FlightState state) noexcept {
  switch (state) {
    case FlightState::kIssued:
      return "issued";
    case FlightState::kRunning:
      return "running";
    case FlightState::kDone:
      return "done";
    case FlightState::kFailed:
      return "failed";
  }
  return "unknown";
}

FlightRecord read_flight_record(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw IoError(concat("opening ", path), errno);
  const auto file = std::make_unique<FlightRecorder::File>();
  stream.read(reinterpret_cast<char*>(file.get()), sizeof *file);
  if (stream.gcount() != static_cast<std::streamsize>(sizeof *file) || file->magic != kFlightMagic) {
    throw FormatError(concat(path, " is not a flight record of this version"));
  }
  return to_record(*file);
}

FlightRecord to_record(const FlightRecorder::File& file) {
  FlightRecord record{file.rank, file.world_size, file.generation, file.process_id, {}, {}};
  const std::uint64_t kept = std::min(file.entry_count, FlightRecorder::kCapacity);
  for (std::uint64_t entry = file.entry_count - kept; entry < file.entry_count; ++entry) {
    record.entries.push_back(to_entry(file.slots[entry % FlightRecorder::kCapacity]));
  }
  if (file.has_failure != 0) record.failure = FlightFailure{file.culprit, text_of(file.failure), file.failure_ns};
  return record;
}

std::string format_flight_record(const FlightRecord& record, std::size_t count) {
  std::string text;
  const std::size_t first = record.entries.size() - std::min(count, record.entries.size());
  for (std::size_t i = first; i < record.entries.size(); ++i) {
    const FlightEntry& entry = record.entries[i];
    text += concat(describe(entry.fingerprint), entry.group == 0 ? "" : concat(" of group ", entry.group), " ",
                   name_of(entry.state));
    if (entry.ended_ns > 0) {
      text += concat(" after ", format_seconds(std::chrono::nanoseconds(entry.ended_ns - entry.issued_ns)));
    }
    text += concat(", ", entry.file, ":", entry.line, "\n");
  }
  return text;
}

}  // namespace lockstep::comm
