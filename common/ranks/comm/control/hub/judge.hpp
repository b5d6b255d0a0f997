#pragma once
// Decides whether the job has failed, and by whose fault. Internal to the hub.
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
// All ranks are told at once of a rank that died, left or fell silent. If ranks disagree or a call takes too long, all
// ranks are first asked for their status, so that the failure can name the missing ones.
class Judge {
 public:
  using Clock = std::chrono::steady_clock;

  // join_deadline: for all ranks to join. Roster and ledger are only read, and must outlive the judge.
  Judge(const JobLimits& limits, const Deadline& join_deadline, const Roster& roster, const GroupLedger& groups)
      : limits_(limits), join_deadline_(join_deadline), roster_(roster), groups_(groups) {}

  // The job has failed; no inquiry is needed.
  [[nodiscard]] Decision fail(const Failure& failure);
  // The job has failed according to `reporter`: all ranks are asked for their status before they are told.
  [[nodiscard]] Decision inquire(const Failure& failure, int reporter, Clock::time_point now);
  // Rank `rank` has given up.
  [[nodiscard]] Decision on_abort(int rank, const Failure& failure, Clock::time_point now);
  // Rank `rank` has reported its status or is gone: inquiries no longer wait for it.
  void note_answer(int rank) { unanswered_.erase(rank); }

  // Acts on deadlines that have passed. Costs the same however many ranks there are.
  [[nodiscard]] Decision check_deadlines(Clock::time_point now);
  // Checks all ranks for silence, and the progress of running collectives and messages.
  [[nodiscard]] Decision look(Clock::time_point now);

  // The failure that all ranks have been told; ranks that join later are told too.
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
  Decision decision_;               // what the running call will return
};

}  // namespace lockstep::comm
