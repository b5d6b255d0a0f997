#include <algorithm>
#include <array>
#include <string>

#include "07_launch_and_survive/3_restart_policy/restart_policy.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_07_3 {

using elastic::Action;
using elastic::Event;
using elastic::EventKind;
using elastic::RestartOptions;

// A decision, and how many restarts have been used up by it.
struct Row {
  Action action = Action::kGoOn;
  std::int64_t exit_code = 0, pause = 0, restart_count = 0;

  bool operator==(const Row&) const = default;
};

// An event, and the right decision.
struct Step {
  Event event;
  Row wanted;
};

// Signals, by their numbers.
constexpr int kKill = 9, kTerm = 15;

Event came() { return {.kind = EventKind::kHostCame}; }
Event lost(bool is_spare = false) { return {.kind = EventKind::kHostLost, .is_spare = is_spare}; }
Event leaves(int signal, bool have_all_saved) {
  return {.kind = EventKind::kHostLeaves, .signal = signal, .have_all_saved = have_all_saved};
}
Event spare_leaves(int signal = kTerm) { return {.kind = EventKind::kHostLeaves, .signal = signal, .is_spare = true}; }
Event failed(int exit_code) { return {.kind = EventKind::kRankFailed, .exit_code = exit_code}; }
Event killed(int signal) { return {.kind = EventKind::kRankFailed, .signal = signal}; }
Event finished() { return {.kind = EventKind::kFinished}; }
Event waited_in_vain() { return {.kind = EventKind::kWaitedInVain}; }

Row go_on(int restarts = 0) { return {.action = Action::kGoOn, .restart_count = restarts}; }
Row wait(int restarts = 0) { return {.action = Action::kWait, .restart_count = restarts}; }
Row start(int pause = 0, int restarts = 0) {
  return {.action = Action::kStart, .pause = pause, .restart_count = restarts};
}
Row end(int exit_code, int restarts = 0) {
  return {.action = Action::kEnd, .exit_code = exit_code, .restart_count = restarts};
}

std::string shown_as(const Event& event) {
  const char* const host = event.is_spare ? "a spare" : "a host";
  switch (event.kind) {
    case EventKind::kHostCame:
      return "a host came";
    case EventKind::kHostLost:
      return concat(host, " was lost");
    case EventKind::kHostLeaves:
      return concat(host, " was asked to end by signal ", event.signal,
                    event.is_spare         ? ""
                    : event.have_all_saved ? ", and all ranks saved"
                                           : ", and not all ranks saved");
    case EventKind::kRankFailed:
      return event.signal != 0 ? concat("a rank was killed by signal ", event.signal)
                               : concat("a rank ended with ", event.exit_code);
    case EventKind::kFinished:
      return "all ranks ended with 0";
    case EventKind::kWaitedInVain:
      return "too few hosts came by the deadline";
  }
  return "";
}

std::string shown_as(const Row& row) {
  constexpr std::array kNames = {"go on", "start", "wait", "end"};
  const auto action = static_cast<std::size_t>(row.action);
  std::string text = action < kNames.size() ? kNames[action] : concat("action ", action);
  if (row.action == Action::kEnd || row.exit_code != 0) text += concat(" with exit code ", row.exit_code);
  if (row.action == Action::kStart || row.pause != 0) text += concat(" in ", row.pause, " s");
  return concat(text, ", ", row.restart_count, row.restart_count == 1 ? " restart" : " restarts", " used");
}

void check_job(Check& check, const RestartOptions& options, const std::vector<Step>& steps) {
  const Outcome& outcome = check.run({.question = [&](int) {
    std::vector<std::int64_t> rows;
    for (const auto& [event, wanted] : steps)
      rows.insert(rows.end(), {static_cast<std::int64_t>(event.kind), event.exit_code, event.signal,
                               std::int64_t{event.have_all_saved}, std::int64_t{event.is_spare}});
    return nlohmann::json{{"min_hosts", options.min_hosts},
                          {"max_hosts", options.max_hosts},
                          {"max_restarts", options.max_restarts},
                          {"events", to_message(std::span<const std::int64_t>(rows))}};
  }});
  const std::vector<std::int64_t> rows = check.numbers<std::int64_t>(outcome, 0, "decisions");
  check.expect(rows.size() == 4 * steps.size(), "the program did not decide on every event");
  std::vector<std::string> before;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Row got{static_cast<Action>(rows[4 * i]), rows[4 * i + 1], rows[4 * i + 2], rows[4 * i + 3]};
    const auto& [event, wanted] = steps[i];
    if (got != wanted)
      check.wrong(
          concat("--nnodes ", options.min_hosts, ":", options.max_hosts, " --max-restarts ", options.max_restarts,
                 ", event ", i + 1, ", ", shown_as(event), ": expected: ", shown_as(wanted), "; got: ", shown_as(got)),
          "", before);
    before.push_back(concat("event ", i + 1, ", ", shown_as(event), ": ", shown_as(got)));
  }
}

// A job's course at random, and what its launcher is to do, kept by the judge.
class RandomJob {
 public:
  RandomJob(std::uint64_t seed, std::uint64_t number) : random_(seed, number) {
    options_.min_hosts = 1 + below(3);
    options_.max_hosts = options_.min_hosts + below(3);
    options_.max_restarts = below(9);
  }

  std::vector<Step> steps() {
    while (steps_.empty() || (steps_.back().wanted.action != Action::kEnd && steps_.size() < 60))
      steps_.push_back(step());
    return steps_;
  }
  [[nodiscard]] const RestartOptions& options() const { return options_; }

 private:
  int below(std::uint64_t bound) { return static_cast<int>(random_.next_below(bound)); }

  Step step() {
    const bool is_elastic = options_.min_hosts<options_.max_hosts, has_spares = hosts_> options_.max_hosts;
    if (!is_running_ && below(8) == 0) return {waited_in_vain(), end(1, restarts_)};
    if (!is_running_ || (hosts_ < options_.max_hosts + 2 && below(4) == 0)) {
      ++hosts_;
      return {came(), is_running_ && hosts_ > options_.max_hosts ? go_on(restarts_) : next(0)};
    }
    switch (below(8)) {
      case 0:
        return {finished(), end(0, restarts_)};
      case 1:
        return {failed(7), failure(7)};
      case 2:
        return {killed(kKill), failure(128 + kKill)};
      case 3:
        --hosts_;
        return {lost(), is_elastic ? next(0) : failure(1)};
      case 4:
        --hosts_;
        if (is_elastic) return {leaves(kTerm, below(2) == 0), next(0)};
        return {leaves(kTerm, true), end(75, restarts_)};
      case 5:
        if (!has_spares) return {failed(3), failure(3)};
        --hosts_;
        return {below(2) == 0 ? lost(true) : spare_leaves(), go_on(restarts_)};
      default:
        return {failed(1), failure(1)};
    }
  }

  Row next(int pause) {
    is_running_ = hosts_ >= options_.min_hosts;
    return is_running_ ? start(pause, restarts_) : wait(restarts_);
  }

  Row failure(int exit_code) {
    if (restarts_ == options_.max_restarts) return end(exit_code, restarts_);
    constexpr std::array kPauses = {1, 2, 4, 8, 16, 30};
    const int pause = kPauses[std::min(static_cast<std::size_t>(restarts_), kPauses.size() - 1)];
    ++restarts_;
    return next(pause);
  }

  PhiloxSequence random_;
  RestartOptions options_;
  int hosts_ = 0, restarts_ = 0;
  bool is_running_ = false;
  std::vector<Step> steps_;
};

void check_elastic(Check& check) {
  check_job(check, {.min_hosts = 2, .max_hosts = 4, .max_restarts = 1},
            {{came(), wait()},
             {came(), start()},
             {came(), start()},
             {lost(), start()},
             {lost(), wait()},
             {came(), start()},
             {failed(3), start(1, 1)},
             {came(), start(0, 1)},
             {leaves(kTerm, true), start(0, 1)},
             {leaves(kTerm, true), wait(1)},
             {lost(), wait(1)},
             {came(), wait(1)},
             {came(), start(0, 1)},
             {failed(3), end(3, 1)}});
}

void check_failures(Check& check) {
  check_job(check, {.max_restarts = 3},
            {{came(), start()},
             {failed(3), start(1, 1)},
             {failed(4), start(2, 2)},
             {failed(5), start(4, 3)},
             {failed(6), end(6, 3)}});
  check_job(check, {}, {{came(), start()}, {failed(3), end(3)}});
}

void check_many_failures(Check& check) {
  std::vector<Step> steps = {{came(), start()}};
  for (int restart = 1; restart <= 45; ++restart)
    steps.push_back({failed(1), start(restart < 6 ? 1 << (restart - 1) : 30, restart)});
  check_job(check, {.max_restarts = 45}, steps);
}

void check_spares(Check& check) {
  check_job(check, {.min_hosts = 1, .max_hosts = 2, .max_restarts = 2},
            {{came(), start()},
             {came(), start()},
             {came(), go_on()},
             {lost(true), go_on()},
             {came(), go_on()},
             {came(), go_on()},
             {spare_leaves(), go_on()},
             {failed(1), start(1, 1)}});
  check_job(check, {.min_hosts = 2, .max_hosts = 2, .max_restarts = 2},
            {{came(), wait()}, {came(), start()}, {came(), go_on()}, {lost(), start(1, 1)}, {lost(), wait(2)}});
  // A spare that has gone can take nobody's place.
  for (const Event& gone : {lost(true), spare_leaves(), spare_leaves(elastic::kInterrupt)})
    check_job(check, {.min_hosts = 2, .max_hosts = 2, .max_restarts = 2},
              {{came(), wait()}, {came(), start()}, {came(), go_on()}, {gone, go_on()}, {lost(), wait(1)}});
}

void check_random_jobs(Check& check) {
  for (std::uint64_t number = 0; number < 24; ++number) {
    RandomJob job(check.seed(), number);
    const std::vector<Step> steps = job.steps();
    check_job(check, job.options(), steps);
  }
}

}  // namespace checks_07_3

void judge_07_3(Examination& exam) {
  using namespace checks_07_3;
  const RestartOptions pair{.min_hosts = 2, .max_hosts = 2, .max_restarts = 2};
  exam.check("2 hosts start and finish", [&](Check& check) {
    check_job(check, pair, {{came(), wait()}, {came(), start()}, {finished(), end(0)}});
  });
  exam.check("ranks fail more often than --max-restarts", check_failures);
  exam.check("a rank is killed by a signal", [](Check& check) {
    check_job(check, {.max_restarts = 1}, {{came(), start()}, {killed(kKill), start(1, 1)}, {killed(11), end(139, 1)}});
  });
  exam.check("many failures", check_many_failures);
  exam.check("a job that is not elastic loses hosts", [&](Check& check) {
    check_job(check, pair,
              {{came(), wait()},
               {came(), start()},
               {lost(), wait(1)},
               {came(), start(0, 1)},
               {failed(1), start(2, 2)},
               {lost(), end(1, 2)}});
  });
  exam.check("hosts come and go in an elastic job", check_elastic);
  exam.check("spares", check_spares);
  exam.check("asked to make room, and all ranks save", [&](Check& check) {
    check_job(check, pair, {{came(), wait()}, {came(), start()}, {leaves(kTerm, true), end(75)}});
  });
  exam.check("asked to make room, and a rank does not save", [&](Check& check) {
    check_job(check, pair, {{came(), wait()}, {came(), start()}, {leaves(kTerm, false), end(143)}});
  });
  exam.check("Ctrl-C", [&](Check& check) {
    check_job(check, pair, {{came(), wait()}, {came(), start()}, {leaves(elastic::kInterrupt, true), end(130)}});
    check_job(check, {.min_hosts = 1, .max_hosts = 3},
              {{came(), start()}, {came(), start()}, {leaves(elastic::kInterrupt, true), end(130)}});
    check_job(check, pair, {{came(), wait()}, {leaves(elastic::kInterrupt, false), end(130)}});
  });
  exam.check("nobody comes", [&](Check& check) {
    check_job(check, pair, {{came(), wait()}, {lost(), wait()}, {came(), wait()}, {waited_in_vain(), end(1)}});
  });
  exam.check("hosts go while the job waits for another one", [&](Check& check) {
    check_job(check, pair,
              {{came(), wait()},
               {leaves(kTerm, false), wait()},
               {came(), wait()},
               {came(), start()},
               {lost(), wait(1)},
               {lost(), wait(1)},
               {came(), wait(1)},
               {came(), start(0, 1)}});
  });
  exam.full_check("jobs at random", check_random_jobs);
}

}  // namespace lockstep::exercise
