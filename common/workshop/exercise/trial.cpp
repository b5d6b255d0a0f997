#include "exercise/trial.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/plain_text.hpp"
#include "exercise/machine_factor.hpp"
#include "exercise/message.hpp"
#include "exercise/progress_board.hpp"
#include "exercise/rank_process.hpp"
#include "exercise/stack_text.hpp"
#include "exercise/trial_failure.hpp"
#include "exercise/trial_layout.hpp"
#include "exercise/trial_ranks.hpp"

namespace lockstep::exercise {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kHangAfter{1000};         // a hang if nothing moves and every rank sleeps for this long
constexpr milliseconds kHangAtStartAfter{5000};  // the same before the learner's code has begun
constexpr std::int64_t kIdleShare = 20;  // a rank that computes for less than 1/20 of the time counts as sleeping
// Threads are looked at one after the other: while one that sleeps wakes another, each may be seen asleep.
constexpr int kIdleLooks = 10;
constexpr milliseconds kLoop{3000};  // of processor time
// For the other ranks after one has failed; the second value if they only lack a processor.
constexpr milliseconds kLastWords{300}, kLastWordsOfBusy{1500};
constexpr std::size_t kMostRemark = 10'000;  // characters
constexpr std::size_t kMostRemarks = 200;

std::vector<std::string> remarks_of(const TrialRank& rank) {
  if (!rank.has_answered() || !rank.reply->contains("remarks")) return {};
  std::vector<std::string> remarks = rank.reply->at("remarks").get<std::vector<std::string>>();
  if (remarks.size() > kMostRemarks) remarks.resize(kMostRemarks);
  for (std::string& remark : remarks) remark = plain_text(remark, kMostRemark, LineBreaks::kReplace);
  return remarks;
}

class Trial {
 public:
  Trial(const Subject& subject, const TrialOptions& options)
      : subject_(subject), options_(options), ranks_(subject, options), explainer_(subject, options, ranks_) {}

  Outcome run() {
    ranks_.ask_all();
    Outcome outcome{.failure = watch(), .fingerprint = explainer_.fingerprint(), .ranks = {}};
    for (int number = 0; number < options_.world_size; ++number) {
      TrialRank& rank = ranks_.all()[static_cast<std::size_t>(number)];
      rank.process.read_output();
      const RankProgress& progress = ranks_.board().of(number);
      outcome.answer_bytes += rank.reader.taken_bytes();
      outcome.ranks.push_back({rank.has_answered() ? rank.reply->at("values") : nlohmann::json(), progress.bytes_sent,
                               progress.messages_sent, without_stack(rank.process.output()), remarks_of(rank)});
    }
    for (TrialRank& rank : ranks_.all()) rank.process.kill();
    return outcome;
  }

 private:
  Failure watch() {
    const Clock::time_point begin = Clock::now();
    const auto budget =
        std::chrono::duration_cast<milliseconds>(options_.budget * machine_factor().wall * subject_.patience);
    const auto hang_at_start_after = std::chrono::duration_cast<milliseconds>(kHangAtStartAfter * subject_.patience);
    mark_quiet();
    while (true) {
      ranks_.look();
      if (ranks_.have_answered()) return {.verdict = VerdictClass::kPassed};
      if (ranks_.has_one_failed()) {
        await_last_words();
        return explainer_.explain_end();
      }
      if (ranks_.moves() != moves_) mark_quiet();
      // A rank that prints much sleeps until its output is read. It is no hang, but it may be a loop.
      const std::uint64_t printed = ranks_.printed_bytes();
      const bool is_printing = std::exchange(printed_, printed) != printed;
      const Clock::duration quiet = Clock::now() - quiet_since_;
      if (quiet > (ranks_.have_begun() ? kHangAfter : hang_at_start_after)) {
        const std::int64_t computed = ranks_.processor_time() - processor_time_;
        const std::int64_t passed = std::chrono::duration_cast<milliseconds>(quiet).count();
        const bool is_idle = !is_printing && !ranks_.is_one_runnable() && computed * kIdleShare < passed;
        idle_looks_ = is_idle ? idle_looks_ + 1 : 0;
        if (idle_looks_ == kIdleLooks)
          return explainer_.explain_hang(ranks_.have_begun() ? kHangAfter : kHangAtStartAfter);
        if (static_cast<double>(computed) > static_cast<double>(kLoop.count()) * machine_factor().processor)
          return explainer_.explain_loop(kLoop);
      }
      // A rank that sleeps before the learner's code begins is not slow: that is a hang, found after
      // hang_at_start_after.
      const milliseconds limit = ranks_.have_begun() ? budget : budget + hang_at_start_after;
      if (Clock::now() - begin > limit && Clock::now() - begin > limit + taken_by_others(budget))
        return explainer_.explain_slow(budget);
    }
  }

  // The time that ranks lost to other processes, which is not their fault; limited, because ranks that compute
  // endlessly take processors from each other too.
  [[nodiscard]] milliseconds taken_by_others(milliseconds budget) const {
    return std::min(ranks_.time_without_processor(), 3 * budget);
  }

  void mark_quiet() {
    moves_ = ranks_.moves();
    quiet_since_ = Clock::now();
    idle_looks_ = 0;
    processor_time_ = ranks_.processor_time();
  }

  // One rank has failed. The others may fail because of it, or may be the cause and fail a little later.
  void await_last_words() {
    const Clock::time_point begin = Clock::now();
    const auto longest = std::chrono::duration_cast<Clock::duration>(kLastWordsOfBusy * subject_.patience);
    while (Clock::now() - begin < longest && std::ranges::any_of(ranks_.all(), [&](const TrialRank& rank) {
             return !rank.is_done() && (Clock::now() - begin < kLastWords || rank.process.is_runnable());
           }))
      ranks_.look();
  }

  const Subject& subject_;
  const TrialOptions& options_;
  TrialRanks ranks_;
  FailureExplainer explainer_;
  std::uint64_t moves_ = 0;
  std::int64_t processor_time_ = 0;
  Clock::time_point quiet_since_;
  std::uint64_t printed_ = 0;
  int idle_looks_ = 0;  // one after the other
};

}  // namespace

std::vector<std::string> Subject::wrapped(const std::vector<std::string>& command) const {
  std::vector<std::string> all = sandbox;
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

Outcome run_trial(const Subject& subject, const TrialOptions& options) { return Trial(subject, options).run(); }

nlohmann::json list_mistakes(const Subject& subject) {
  auto [ours, theirs] = connected_pair();
  const UniqueFd control = std::move(theirs);
  RankProcess process(subject.command(), {concat(kRankVariable, "=0")}, {{kControlFd, control.get()}});
  send_message(ours.get(), {{"list", true}});
  MessageReader reader;
  for (int i = 0; i < 500; ++i) {
    pollfd readable{ours.get(), POLLIN, 0};
    ::poll(&readable, 1, 20);
    const bool is_open = reader.read_from(ours.get());
    if (auto message = reader.take()) return *message;
    if (!is_open || process.has_ended()) break;
  }
  throw IoError(concat(subject.program, " does not list its mistakes"), 0);
}

}  // namespace lockstep::exercise
