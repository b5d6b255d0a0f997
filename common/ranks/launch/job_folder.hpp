#pragma once
/// @file
/// The folder of the flight records of a job's ranks, and that of the last failed job.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace lockstep::launch {

/// The folder of one job below state_folder() (base/state_folder.hpp). It is removed when the job succeeds, and kept as
/// the last failure if keep() was called. Making a new one removes older ones, including those of killed launchers.
///
/// A lock on a file in it shows that the job is running. The kernel releases it when the launcher ends for any reason,
/// and shows it to every process that sees the folder, even in another container, where the launcher has a different
/// process id or none.
class JobFolder {
 public:
  /// @throws IoError  The folder cannot be made or locked, or state_folder() belongs to another user.
  JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  ~JobFolder();

  /// Removed by the destructor, unless kept.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Makes last_failure() return this job.
  void keep();

  /// Records which rank failed first and how, for read_first_failure(). Does nothing if the disk is full.
  void note_first_failure(int rank, const std::string& what) const;

 private:
  std::filesystem::path path_;
  UniqueFd lock_;
  bool is_kept_ = false;
};

/// The rank that a job's launcher saw fail first.
struct FirstFailure {
  int rank = -1;     ///< In [0, world_size).
  std::string what;  ///< "was killed by SIGSEGV (Segmentation fault)".
};

/// The failure that note_first_failure() recorded in a job's folder, if any.
[[nodiscard]] std::optional<FirstFailure> read_first_failure(const std::filesystem::path& folder);

/// The folders of this user's running jobs on this host, sorted by name. A job is running if its launcher is, or, if it
/// was started by a different launcher, if one of its ranks is (comm/flight_recorder/flight_folder.hpp).
[[nodiscard]] std::vector<std::filesystem::path> running_jobs();

/// The folder of the job that failed last, if any.
[[nodiscard]] std::optional<std::filesystem::path> last_failure();

}  // namespace lockstep::launch
