#include "exercise/subject.hpp"

#include "07_launch_and_survive/3_restart_policy/restart_policy.hpp"

namespace lockstep::exercise {

// One row per event: kind, exit code, signal, have_all_saved, is_spare. One row per decision: action, exit code, pause
// in seconds, restart_count().
Answer answer(Question& question) {
  elastic::RestartPolicy policy({.min_hosts = question.get<int>("min_hosts"),
                                 .max_hosts = question.get<int>("max_hosts"),
                                 .max_restarts = question.get<int>("max_restarts")});
  const std::vector<std::int64_t> events = question.numbers<std::int64_t>("events");
  constexpr std::size_t kColumns = 5;
  std::vector<std::int64_t> decisions;
  for (std::size_t at = 0; at + kColumns <= events.size(); at += kColumns) {
    const elastic::Decision decision = policy.decide({.kind = static_cast<elastic::EventKind>(events[at]),
                                                      .exit_code = static_cast<int>(events[at + 1]),
                                                      .signal = static_cast<int>(events[at + 2]),
                                                      .have_all_saved = events[at + 3] != 0,
                                                      .is_spare = events[at + 4] != 0});
    decisions.insert(decisions.end(), {static_cast<std::int64_t>(decision.action), decision.exit_code,
                                       std::int64_t{decision.pause.count()}, policy.restart_count()});
    // The events after a decision depend on it, so the judge compares no further than to the first that is wrong.
  }
  Answer result;
  result.set_numbers<std::int64_t>("decisions", decisions);
  return result;
}

}  // namespace lockstep::exercise
