#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <numeric>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "comm/flight_recorder/flight_file.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/joining/init_method.hpp"

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

std::vector<FlightGroup> to_groups(const FlightGroups& from) {
  std::vector<FlightGroup> groups;
  const std::size_t used = std::min<std::size_t>(from.used, from.numbers.size());
  for (std::size_t at = 0; at + 2 <= used;) {
    const auto count = static_cast<std::size_t>(std::max(from.numbers[at + 1], 0));
    if (count > used - at - 2) break;  // damaged
    const auto begin = from.numbers.begin() + static_cast<std::ptrdiff_t>(at) + 2;
    groups.push_back({from.numbers[at], {begin, begin + static_cast<std::ptrdiff_t>(count)}});
    at += count + 2;
  }
  return groups;
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
  const bool is_whole = stream.gcount() == static_cast<std::streamsize>(sizeof *file);
  if (!is_whole || file->magic != kFlightMagic) {
    throw FormatError(concat(path, " is not a flight record of this version"));
  }
  // Readers make lists of that many ranks.
  if (file->world_size < 1 || file->world_size > kMaxWorldSize || file->rank < 0 || file->rank >= kMaxWorldSize) {
    throw FormatError(concat(path, " is damaged: it is of rank ", file->rank, " of ", file->world_size,
                             "; remove it, the others can be read without it"));
  }
  try {
    return to_record(*file);
  } catch (const FormatError& error) {
    throw FormatError(concat(path, " is damaged: ", error.what(), "; remove it, the others can be read without it"));
  }
}

FlightRecord to_record(const FlightRecorder::File& file) {
  const std::uint64_t count = file.entry_count;
  FlightRecord record{.rank = file.rank,
                      .world_size = file.world_size,
                      .generation = file.generation,
                      .process_id = file.process_id,
                      .first_entry = count - std::min(count, FlightRecorder::kCapacity),
                      .entries = {},
                      .groups = to_groups(file.groups),
                      .failure = {}};
  for (std::uint64_t entry = record.first_entry; entry < count; ++entry) {
    record.entries.push_back(to_entry(file.slots[entry % FlightRecorder::kCapacity]));
  }
  if (file.has_failure != 0) record.failure = FlightFailure{file.culprit, text_of(file.failure), file.failure_ns};
  return record;
}

// ControlPlane::next_group_id() numbers groups so that those of all ranks are the multiples of world_size + 1.
std::vector<int> FlightRecord::ranks_of(int group) const {
  const auto noted = std::ranges::find(groups, group, &FlightGroup::number);
  if (noted != groups.end()) return noted->ranks;
  std::vector<int> all(group % (world_size + 1) == 0 ? static_cast<std::size_t>(world_size) : 0);
  std::iota(all.begin(), all.end(), 0);
  return all;
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
