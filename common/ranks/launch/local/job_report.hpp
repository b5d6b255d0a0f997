#pragma once
/// @file
/// A launcher's messages about its ranks. Internal to this module.
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/host_share.hpp"
#include "launch/local/job_output.hpp"

namespace lockstep::launch {

/// Reports events of a host's ranks on standard error, between the lines of the ranks. It reads collectives from flight
/// recorder files, so it works for hung ranks too. Thread safety: one thread.
class JobReport {
 public:
  /// @param name  Begins each line. @param flight_folder  Where the flight recorders write.
  /// @param first_rank  RANK of the first of `world_size` ranks on this host. @param output  Must outlive this object.
  JobReport(std::string name, std::filesystem::path flight_folder, int first_rank, int world_size, JobOutput& output);

  void say(const std::string& text);
  /// The ranks' current collectives, for SIGUSR1.
  void say_where_ranks_are();
  /// Reports output that could not be written (a full disk, say), which does not end a job.
  void say_what_was_lost();
  /// Reports processes that still exist `waited` after SIGKILL.
  void say_what_is_left(const std::vector<pid_t>& pids, std::chrono::nanoseconds waited);
  /// With the last lines of the rank.
  void say_first_failure(const RankFailure& failure);
  /// The last lines of the rank that the others blame, if it is not `first`: a rank that waits for another may end
  /// first, and then its last lines only say that the other has failed.
  void say_accused(const RankFailure& first);
  /// The last collectives of the ranks, if they have entered any.
  void say_last_collectives();

  /// The last lines of a rank of this host. @param rank  Of the job.
  [[nodiscard]] std::vector<std::string> last_lines(int rank) const { return output_.last_lines(rank - first_rank_); }
  /// The failure of the rank that was reported to the ranks here as the culprit; without such a report, that of the
  /// first to end. A rank that waits for a failing one may end before it does.
  [[nodiscard]] RankFailure failure_at_fault(const RankFailure& first) const;

 private:
  void say_lines(const std::vector<std::string>& lines);
  [[nodiscard]] bool is_here(int rank) const noexcept {
    return rank >= first_rank_ && rank < first_rank_ + world_size_;
  }

  std::string name_;
  std::filesystem::path flight_folder_;
  int first_rank_;
  int world_size_;
  JobOutput& output_;
};

}  // namespace lockstep::launch
