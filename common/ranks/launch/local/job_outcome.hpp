#pragma once
/// @file
/// How a job ends on one host. Internal to this module.
#include <string>
#include <utility>
#include <vector>

#include "launch/launcher.hpp"

namespace lockstep::launch {

/// Determines the exit code of a host's ranks and the first failure from their events. No side effects. Thread safety:
/// one thread.
class JobOutcome {
 public:
  /// @param options  The job's; must outlive this object.
  explicit JobOutcome(const JobOptions& options) : options_(options) {}

  /// A rank has ended in any way.
  void note_end() noexcept { ++ended_; }
  /// A rank has ended with code 0.
  void note_success() noexcept { ++succeeded_; }
  /// A rank has ended after saving, and asks to be restarted (kRequeueExitCode). @return  Whether it is the first one.
  bool note_preempted() noexcept { return preempted_++ == 0; }
  /// A rank has failed, the first one as far as is known. @param exit_code  The rank's.
  void note_failure(RankFailure failure, int exit_code);
  /// A signal has reached the launcher or the reaper. Discards a failure if may_be_asked_to_end().
  void note_signal(int signal);
  /// Sets the job's exit code unconditionally.
  void end_with(int exit_code) noexcept { result_.exit_code = exit_code; }
  /// Sets the job's exit code if it is still 0.
  void fall_back_to(int exit_code) noexcept;
  /// The job ends by a signal, unless a rank has already failed.
  void end_by(int signal) noexcept;
  /// Everything has ended. @return  Whether all ranks saved as requested: the job should be restarted.
  bool conclude_preemption();
  /// Adds to the first failure. @pre  There is one.
  void set_last_lines(std::vector<std::string> lines) { result_.failure->last_lines = std::move(lines); }

  /// The result so far.
  [[nodiscard]] const JobResult& result() const noexcept { return result_; }
  /// Number of ranks that have not ended.
  [[nodiscard]] int left() const noexcept { return options_.world_size - ended_; }
  /// Whether a rank was interrupted, and all others have ended in good order.
  [[nodiscard]] bool was_only_interrupted() const noexcept;
  /// Whether a rank has saved and none has failed.
  [[nodiscard]] bool is_preempted() const noexcept;
  /// Whether note_signal() has been called.
  [[nodiscard]] bool was_stopped() const noexcept { return was_stopped_; }
  /// An apparent failure of a rank may be due to a signal to all processes that reached the rank first.
  [[nodiscard]] bool may_be_asked_to_end() const noexcept;
  /// Whether the first failure may be a consequence of a killed rank that was reported after it: the kernel tears a
  /// killed process down before it notifies the parent, and by then a peer that misses it may have failed.
  [[nodiscard]] bool may_follow_from(int rank) const noexcept;

 private:
  const JobOptions& options_;
  JobResult result_;
  int ended_ = 0;
  int succeeded_ = 0;  // of these
  int preempted_ = 0;  // likewise
  bool was_stopped_ = false;
};

}  // namespace lockstep::launch
