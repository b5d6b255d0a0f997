#pragma once
/// @file
/// The last collectives of a rank, in a file that outlives it.
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "comm/fingerprint.hpp"

namespace lockstep::comm {

/// How far a collective came. Values appear in files; never renumber.
enum class FlightState : std::uint8_t { kIssued = 0, kRunning = 1, kDone = 2, kFailed = 3 };

/// "issued", "running", "done", "failed".
[[nodiscard]] std::string_view name_of(FlightState state) noexcept;

/// One collective, send or recv of one rank. Times are nanoseconds of the steady clock, which counts from the start of
/// the host: differences hold when the time of day is set, and ranks of one host can be compared.
struct FlightEntry {
  int group = 0;                             ///< Which process group of the rank.
  Fingerprint fingerprint;                   ///< What was called.
  FlightState state = FlightState::kIssued;  ///< How far it came.
  std::string file;                          ///< Of the calling line: at most 94 characters, from a whole name on.
  std::uint32_t line = 0;                    ///< Of the call in `file`.
  std::int64_t issued_ns = 0;                ///< When the caller made the call.
  std::int64_t started_ns = 0;               ///< When it began to run; 0: not yet.
  std::int64_t ended_ns = 0;                 ///< When it was done or had failed; 0: not yet.
};

/// Why the job failed, as a rank was told.
struct FlightFailure {
  int culprit = -1;          ///< A rank, or -1 where it is not one rank's fault.
  std::string message;       ///< Its first 511 characters.
  std::int64_t told_ns = 0;  ///< When the rank was told; by the clock of FlightEntry.
};

/// What a rank's file holds, oldest entry first.
struct FlightRecord {
  int rank = 0;                          ///< Whose record.
  int world_size = 0;                    ///< Of its job.
  int generation = 0;                    ///< Restart count of the job.
  std::int64_t process_id = 0;           ///< As the system knows the rank.
  std::vector<FlightEntry> entries;      ///< Oldest first; at most kCapacity.
  std::optional<FlightFailure> failure;  ///< Empty: the rank was told of none.
};

/// Writes entries into a memory-mapped file of kCapacity slots, so that they survive SIGKILL: the kernel owns the
/// pages. Thread safety: any thread.
class FlightRecorder {
 public:
  /// Collectives that are kept.
  static constexpr std::uint64_t kCapacity = 1000;

  /// Makes (or replaces) rank3.flight in `folder` for rank 3. @throws IoError  The file cannot be made.
  FlightRecorder(const std::string& folder, int rank, int world_size, int generation);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  /// Adds an entry and returns its number, for update().
  std::uint64_t add(int group, const Fingerprint& fingerprint, const std::source_location& where) noexcept;
  /// Notes that an entry has started or ended; ignored where the entry has been overwritten since.
  void update(std::uint64_t entry, FlightState state) noexcept;

  /// Notes why the job failed; the first note stays.
  void note_failure(int culprit, std::string_view message) noexcept;
  /// What has been recorded until now.
  [[nodiscard]] FlightRecord record() const;

  struct File;  ///< Layout of the file, in flight_file.hpp.

 private:
  File* file_ = nullptr;  // mapped; unmapped by the destructor
  mutable std::mutex mutex_;
};

/// The path of a rank's file.
[[nodiscard]] std::string flight_record_path(const std::string& folder, int rank);

/// Reads a file, also while its rank runs or after it was killed. @throws IoError, FormatError
[[nodiscard]] FlightRecord read_flight_record(const std::string& path);

/// The last `count` entries as lines, newest last: "all_reduce #14 (sum of 1000 float32) failed after
/// 2.1 s, train.cpp:41".
[[nodiscard]] std::string format_flight_record(const FlightRecord& record, std::size_t count = 10);

}  // namespace lockstep::comm
