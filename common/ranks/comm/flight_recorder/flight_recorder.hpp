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

/// Progress of a collective. Values appear in files; never renumber.
enum class FlightState : std::uint8_t { kIssued = 0, kRunning = 1, kDone = 2, kFailed = 3 };

/// "issued", "running", "done", "failed".
[[nodiscard]] std::string_view name_of(FlightState state) noexcept;

/// One collective, send or recv of one rank. Times are nanoseconds of the steady clock, which counts from the start of
/// the host: it does not jump when the time of day is set, and is the same for all ranks of a host.
struct FlightEntry {
  int group = 0;
  Fingerprint fingerprint;
  FlightState state = FlightState::kIssued;
  std::string file;  ///< Of the calling line: at most its last 94 characters, beginning with a whole path component.
  std::uint32_t line = 0;
  std::int64_t issued_ns = 0;
  std::int64_t started_ns = 0;  ///< 0: not yet.
  std::int64_t ended_ns = 0;    ///< Done or failed; 0: not yet.
};

/// The job's failure, as reported to a rank.
struct FlightFailure {
  int culprit = -1;          ///< A rank, or -1 if no single rank is at fault.
  std::string message;       ///< Its first 511 characters.
  std::int64_t told_ns = 0;  ///< When the rank was told, on the clock of FlightEntry.
};

/// A group of some of the job's ranks.
struct FlightGroup {
  int number = 0;          ///< As in FlightEntry::group.
  std::vector<int> ranks;  ///< The job's rank of each of its ranks.
};

/// The content of a rank's file.
struct FlightRecord {
  int rank = 0;
  int world_size = 0;
  int generation = 0;  ///< Restart count of the job.
  std::int64_t process_id = 0;
  std::uint64_t first_entry = 0;         ///< Number of entries that were overwritten by later ones.
  std::vector<FlightEntry> entries;      ///< Oldest first; at most kCapacity.
  std::vector<FlightGroup> groups;       ///< Made by split(), with this rank in them; the first ones if there are many.
  std::optional<FlightFailure> failure;  ///< Empty: none was reported to the rank.

  /// The job's ranks that are in the group of an entry; empty if they are not known.
  [[nodiscard]] std::vector<int> ranks_of(int group) const;
};

/// Writes entries into a memory-mapped file of kCapacity slots, so that they survive SIGKILL: the kernel owns the
/// pages. Thread safety: any thread.
class FlightRecorder {
 public:
  /// Number of collectives kept.
  static constexpr std::uint64_t kCapacity = 1000;

  /// Makes (or replaces) rank3.flight in `folder` for rank 3. @throws IoError  The file cannot be made.
  FlightRecorder(const std::string& folder, int rank, int world_size, int generation);
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  /// Adds an entry and returns its number, for update().
  std::uint64_t add(int group, const Fingerprint& fingerprint, const std::source_location& where) noexcept;
  /// Notes that an entry has started or ended; ignored if the entry has been overwritten since.
  void update(std::uint64_t entry, FlightState state) noexcept;

  /// Notes which of the job's ranks are in a group made by split(). Ignored if there is no room left.
  void note_group(int group, const std::vector<int>& ranks) noexcept;
  /// Notes why the job failed; only the first note counts.
  void note_failure(int culprit, std::string_view message) noexcept;
  [[nodiscard]] FlightRecord record() const;

  struct File;  ///< Layout of the file, in flight_file.hpp.

 private:
  File* file_ = nullptr;  // mapped; unmapped by the destructor
  mutable std::mutex mutex_;
};

[[nodiscard]] std::string flight_record_path(const std::string& folder, int rank);

/// Reads a file, also while its rank runs or after it was killed. @throws IoError, FormatError
[[nodiscard]] FlightRecord read_flight_record(const std::string& path);

/// The last `count` entries as lines, newest last: "all_reduce #14 (sum of 1000 float32) failed after 2.1 s,
/// train.cpp:41".
[[nodiscard]] std::string format_flight_record(const FlightRecord& record, std::size_t count = 10);

}  // namespace lockstep::comm
