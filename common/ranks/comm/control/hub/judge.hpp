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

// What the hub is to do: first to log warnings, then to send messages to all ranks.
struct Decision {
  std::vector<std::string> warnings;
  std::vector<ControlMessage> messages;
};

// Looks at who is there (the roster) and at what all ranks said (the ledger). It waits for nothing and sends nothing:
// every call returns what is to be done. The first failure wins; later ones change nothing.
//
// A rank that died, left or fell silent is told to all at once. Where ranks disagree or a call takes too long, all
// ranks are first asked where they are, so that the failure can name who is missing.
class Judge {
 public:
  using Clock = std::chrono::steady_clock;

  // join_deadline: for all ranks to join. Roster and ledger are only read, and must outlive the judge.
  Judge(const JobLimits& limits, const Deadline& join_deadline, const Roster& roster, const GroupLedger& groups)
      : limits_(limits), join_deadline_(join_deadline), roster_(roster), groups_(groups) {}

  // The job has failed, for a reason that needs no questions.
  [[nodiscard]] Decision fail(const Failure& failure);
  // The job has failed, as `reporter` has seen: all ranks are asked before it is told.
  [[nodiscard]] Decision inquire(const Failure& failure, int reporter, Clock::time_point now);
  // Rank `rank` has given up.
  [[nodiscard]] Decision on_abort(int rank, const Failure& failure, Clock::time_point now);
  // Rank `rank` has said where it is, or is gone: no question waits for it any more.
  void note_answer(int rank) { unanswered_.erase(rank); }

  // Acts on deadlines that have passed. Costs the same however many ranks there are.
  [[nodiscard]] Decision check_deadlines(Clock::time_point now);
  // Looks at all ranks: at who is silent, and at how the collectives and messages that run get on.
  [[nodiscard]] Decision look(Clock::time_point now);

  // What all have been told, and a rank that comes later is told.
  [[nodiscard]] const std::optional<Failure>& failure() const noexcept { return failure_; }

 private:
  // A failure about which all ranks are asked before it is told.
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
  std::set<int> unanswered_;        // ranks that have been asked, and have not answered
  std::set<std::string> reported_;  // collectives and pairs of which it has been said who is missing
  Decision decision_;               // what the running call will return
};

}  // namespace lockstep::comm
