// TensorBoard's event files: protocol buffers in TensorFlow's record format, both written by hand.
//
// A record is: length (8 bytes), checksum of these 8 bytes (4), data, checksum of the data (4); all little-endian. The
// data are a protocol buffer `Event`; five of its fields are used. In a protocol buffer, each field begins with a key:
// its number times 8, plus how its value is written: 0 a varint, 1 eight bytes, 2 a length and as many bytes, 5 four.
//
//   Event:   1 wall_time (double)  2 step (int64)  3 file_version (string)  5 summary (Summary)  7 session_log
//   Summary: 1 value (Value, repeated)             Value: 1 tag (string)  2 simple_value (float)
//   SessionLog: 1 status (1: start)
//
// TensorBoard reads a folder's files in the order of their names. A session that starts at step n (PyTorch's
// SummaryWriter(purge_step=n)) makes it forget the values of earlier files from step n on.
//
// Sources: tensorflow/core/util/event.proto, framework/summary.proto, lib/io/record_writer.h (TensorFlow 2).
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "run/record_file.hpp"
#include "run/scalar_names.hpp"
#include "run/tracker.hpp"

namespace lockstep::run {
namespace {

// CRC-32C (Castagnoli, 1993): polynomial 0x1EDC6F41, bits reflected.
constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82F63B78U : 0U);
    table[byte] = rest;
  }
  return table;
}();

// Rotated and shifted, because checksums of data that contain checksums would be weak.
std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = (crc >> 8) ^ kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  return std::rotr(~crc, 15) + 0xA282EAD8U;
}

template <typename Unsigned>
std::string little_endian(Unsigned value) {
  static_assert(std::is_unsigned_v<Unsigned>);
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(value); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

enum class Wire : std::uint64_t { kVarint = 0, kEightBytes = 1, kBytes = 2, kFourBytes = 5 };

std::string key(std::uint64_t field, Wire wire) { return varint(field * 8 + static_cast<std::uint64_t>(wire)); }

std::string bytes_field(std::uint64_t field, const std::string& bytes) {
  return key(field, Wire::kBytes) + varint(bytes.size()) + bytes;
}

std::string record_of(const std::string& data) {
  const std::string length = little_endian(std::uint64_t{data.size()});
  return length + little_endian(masked_crc(length)) + data + little_endian(masked_crc(data));
}

std::string event_now() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return key(1, Wire::kEightBytes) + little_endian(std::bit_cast<std::uint64_t>(now.count()));
}

std::string summary_of(const Scalars& values) {
  std::string summary;
  for (const auto& [name, value] : named_scalars(values)) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    summary += bytes_field(1, bytes_field(1, name) + key(2, Wire::kFourBytes) + little_endian(bits));
  }
  return summary;
}

std::string file_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'h', 'o', 's', 't'};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return concat("events.out.tfevents.", std::chrono::duration_cast<std::chrono::seconds>(now).count(), '.', host.data(),
                '.', ::getpid());
}

std::string step_of(std::int64_t step) { return key(2, Wire::kVarint) + varint(static_cast<std::uint64_t>(step)); }

std::string head_of_file(std::optional<std::int64_t> first_step) {
  const std::string version = record_of(event_now() + bytes_field(3, "brain.Event:2"));
  if (!first_step) return version;
  const std::string start = key(1, Wire::kVarint) + varint(1);
  return version + record_of(event_now() + step_of(*first_step) + bytes_field(7, start));
}

class TensorBoardTracker final : public Tracker {
 public:
  TensorBoardTracker(std::filesystem::path folder, std::optional<std::int64_t> first_step)
      : folder_(std::move(folder)), first_step_(first_step) {}

  void log(const Scalars& values, std::int64_t step) override {
    if (file_ && !file_->is_in_place()) {
      file_.reset();
      path_.clear();
      has_head_ = false;
    }
    // A path that cannot be opened is tried again: another name would make another error of the same fault.
    if (path_.empty()) path_ = folder_ / file_name();
    if (!file_) file_.emplace(path_, Records::kBytes);
    const std::string head = has_head_ ? "" : head_of_file(first_step_);
    file_->append(head + record_of(event_now() + step_of(step) + bytes_field(5, summary_of(values))));
    has_head_ = true;
  }

 private:
  std::filesystem::path folder_;
  std::optional<std::int64_t> first_step_;
  std::filesystem::path path_;  // empty: no file is wanted yet, or the last one is gone
  std::optional<RecordFile> file_;
  bool has_head_ = false;
};

}  // namespace

std::unique_ptr<Tracker> make_tensorboard_tracker(const std::filesystem::path& folder,
                                                  std::optional<std::int64_t> first_step) {
  return std::make_unique<TensorBoardTracker>(folder, first_step);
}

}  // namespace lockstep::run
