#pragma once
// Decides whether the job has failed, and whose fault it is. Internal to the hub.
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "comm/control/hub/group_ledger.hpp"
#include "comm/control/hub/roster.hpp"
#include "comm/control/wire.hpp"
#include "comm/job_context.hpp"

namespace lockstep::comm {

// Actions for the hub: first log warnings, then send messages to all ranks.
struct Decision {
  std::vector<std::string> warnings;
  std::vector<ControlMessage> messages;
};

// Judges by the roster (which ranks are present) and the ledger (what they reported). It neither waits nor sends: every
// call returns the actions to take. The first failure wins; later ones change nothing.
//
// If a rank dies, leaves or falls silent, all ranks are told at once. If ranks disagree or a call takes too long, all
// ranks are first asked for their status, so that the failure can name the missing ones.
class Judge {
 public:
  using Clock = std::chrono::steady_clock;

  // join_deadline: by when all ranks must join. Roster and ledger are only read, and must outlive the judge.
  Judge(const JobLimits& limits, const Deadline& join_deadline, const Roster& roster, const GroupLedger& groups)
      : limits_(limits), join_deadline_(join_deadline), roster_(roster), groups_(groups) {}

  // Fails the job without an inquiry.
  [[nodiscard]] Decision fail(const Failure& failure);
  // Fails the job on the word of `reporter`, but asks all ranks for their status before it tells them.
  [[nodiscard]] Decision inquire(const Failure& failure, int reporter, Clock::time_point now);
  // Call when rank `rank` has given up.
  [[nodiscard]] Decision on_abort(int rank, const Failure& failure, Clock::time_point now);
  // Call when rank `rank` has reported its status or is gone: inquiries no longer wait for it.
  void note_answer(int rank) { unanswered_.erase(rank); }

  // Acts on deadlines that have passed. The cost does not grow with the number of ranks.
  [[nodiscard]] Decision check_deadlines(Clock::time_point now);
  // Checks whether any rank is silent, and whether running collectives and messages make progress.
  [[nodiscard]] Decision look(Clock::time_point now);

  // The failure that all ranks have been told about, as will be those that join later.
  [[nodiscard]] const std::optional<Failure>& failure() const noexcept { return failure_; }

 private:
  // A failure to be announced after all ranks have been asked for their status.
  struct Inquiry {
    Failure failure;
    int reporter;
    Clock::time_point deadline;
  };

  [[nodiscard]] bool is_decided() const noexcept { return failure_ || inquiry_; }
  void tell(const Failure& failure);
  void ask(const Failure& failure, int reporter, Clock::time_point now);
  void judge_progress(Clock::time_point now);
  void compare(const GroupKey& group, const RunningBySequence& running, Clock::time_point now);
  void report_left(const GroupKey& group, const RunningBySequence& running);
  void report_missing(const GroupKey& group, const RunningCollective& running);
  void judge_pair(int rank, int group, const PairStatus& pair);
  [[nodiscard]] Decision take_decision() { return std::exchange(decision_, {}); }

  const JobLimits limits_;
  const Deadline join_deadline_;
  const Roster& roster_;
  const GroupLedger& groups_;
  std::optional<Failure> failure_;
  std::optional<Inquiry> inquiry_;
  std::set<int> unanswered_;        // ranks that were asked and have not answered
  std::set<std::string> reported_;  // collectives and pairs whose missing ranks have been reported
  Decision decision_;               // returned by the running call
};

}  // namespace lockstep::comm
