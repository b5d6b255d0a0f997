#pragma once
/// @file
/// Where the flight recorders of a job's ranks write, and where those of the last failed job are found.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace lockstep::launch {

/// The folder of one job below state_folder() (base/state_folder.hpp). It is removed when the job ends well, and kept
/// as the last failure where keep() was called; older ones, also those of killed launchers, are removed when a new one
/// is made.
///
/// A lock on a file in it says that the job runs. The kernel releases it with the launcher, however that ends, and
/// shows it to every process that sees the folder: in another container, too, where the launcher has another number or
/// none.
class JobFolder {
 public:
  /// @throws IoError  The folder cannot be made, or belongs to another user.
  JobFolder();
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  ~JobFolder();

  /// Removed with this object.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Makes this the job that last_failure() finds.
  void keep();

  /// Keeps which rank failed first and how, for read_first_failure(). Does nothing where the disk is full.
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

/// What note_first_failure() left in a job's folder, if anything.
[[nodiscard]] std::optional<FirstFailure> read_first_failure(const std::filesystem::path& folder);

/// The folders of this user's jobs on this host whose launcher runs, or, where another launcher has started them, of
/// which a rank runs (comm/flight_recorder/flight_folder.hpp), by name.
[[nodiscard]] std::vector<std::filesystem::path> running_jobs();

/// The folder of the job that failed last, if any.
[[nodiscard]] std::optional<std::filesystem::path> last_failure();

}  // namespace lockstep::launch
