#pragma once
/// @file
/// How a job ends on one host. Internal to this module.
#include <string>
#include <utility>
#include <vector>

#include "launch/launcher.hpp"

namespace lockstep::launch {

/// Finds the exit code of a host's ranks, and the failure that came first, from what happens to them. It has no effect
/// outside of itself. Thread safety: one thread.
class JobOutcome {
 public:
  /// @param options  Of the job; outlives this object.
  explicit JobOutcome(const JobOptions& options) : options_(options) {}

  /// A rank has ended, in whatever way.
  void note_end() noexcept { ++ended_; }
  /// A rank that has ended has saved, and asks to be started again (kRequeueExitCode). @return  It is the first one.
  bool note_preempted() noexcept { return preempted_++ == 0; }
  /// A rank has failed, before all others as far as is known. @param exit_code  Its own.
  void note_failure(RankFailure failure, int exit_code);
  /// A signal has reached the launcher or the reaper. A failure that may_be_asked_to_end() is none.
  void note_signal(int signal);
  /// The job ends with a code whatever else has happened.
  void end_with(int exit_code) noexcept { result_.exit_code = exit_code; }
  /// The job ends with a code if it has none but 0.
  void fall_back_to(int exit_code) noexcept;
  /// The job ends by a signal, unless a rank has failed before.
  void end_by(int signal) noexcept;
  /// All has ended. @return  All ranks have saved when they were asked to: the job is to be started again.
  bool conclude_preemption();
  /// Completes the first failure. @pre  There is one.
  void set_last_lines(std::vector<std::string> lines) { result_.failure->last_lines = std::move(lines); }

  /// As far as is known.
  [[nodiscard]] const JobResult& result() const noexcept { return result_; }
  /// Ranks that have not ended.
  [[nodiscard]] int left() const noexcept { return options_.world_size - ended_; }
  /// A rank has saved, and none has failed.
  [[nodiscard]] bool is_preempted() const noexcept;
  /// note_signal() has been called.
  [[nodiscard]] bool was_stopped() const noexcept { return was_stopped_; }
  /// What looks like a rank's failure may be a signal that was sent to all processes, and that the rank got first.
  [[nodiscard]] bool may_be_asked_to_end() const noexcept;
  /// The first failure may follow from that of a rank that was killed, and that has ended after it: the kernel takes a
  /// killed process apart before it tells its parent. A peer that misses it may have ended with an error by then.
  [[nodiscard]] bool may_follow_from(int rank) const noexcept;

 private:
  const JobOptions& options_;
  JobResult result_;
  int ended_ = 0;
  int preempted_ = 0;  // of those
  bool was_stopped_ = false;
};

}  // namespace lockstep::launch
