#include "exercise/trial_failure.hpp"

#include <poll.h>

#include <csignal>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "base/plain_text.hpp"
#include "exercise/finding_text.hpp"
#include "exercise/stack_text.hpp"
#include "exercise/trial_layout.hpp"
#include "exercise/wait_graph.hpp"

namespace lockstep::exercise {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostText = 10'000;  // of an exception
constexpr std::string_view kOutOfRange = " (an index or a length that its vector or span does not have: not ";

// The condition in a message of the standard library's check of an index or a length (_GLIBCXX_ASSERTIONS): "__n <
// this->size()"; empty: none.
std::string violated_condition(const std::string& output) {
  constexpr std::string_view kBegin = ": Assertion '", kEnd = "' failed.";
  const std::size_t begin = output.find(kBegin);
  if (begin == std::string::npos) return "";
  const std::size_t end = output.find(kEnd, begin);
  return end == std::string::npos ? "" : output.substr(begin + kBegin.size(), end - begin - kBegin.size());
}

std::string signal_hint(int signal) {
  if (signal == SIGSEGV) return " (it read or wrote memory that is not its own)";
  if (signal == SIGABRT) return " (an uncaught exception, or the C library found its memory damaged)";
  if (signal == SIGFPE) return " (an integer was divided by zero)";
  if (signal == SIGKILL) return " (killed: by the memory limit, perhaps)";
  return "";
}

// "rank 1: " for "sending to rank 1: " and for "receiving from rank 1: ".
std::string without_direction(std::string text) {
  for (const std::string_view direction : {"sending to ", "receiving from "})
    if (const std::size_t at = text.find(direction); at != std::string::npos) text.erase(at, direction.size());
  return text;
}

std::string text_of(const TrialRank& rank, const char* name) {
  const nlohmann::json& value = rank.reply->at(name);
  return value.is_string() ? plain_text(value.get_ref<const std::string&>(), kMostText, LineBreaks::kKeep) : "";
}

}  // namespace

Failure FailureExplainer::explain_end() {
  for (TrialRank& rank : ranks_.all()) rank.process.read_output();
  for (const auto& find : {&FailureExplainer::find_todo, &FailureExplainer::find_findings,
                           &FailureExplainer::find_crash, &FailureExplainer::find_exception})
    if (const auto failure = (this->*find)()) return *failure;
  return {.verdict = VerdictClass::kCrash, .summary = "a rank ended without an answer"};
}

std::optional<Failure> FailureExplainer::find_todo() {
  for (const TrialRank& rank : ranks_.all()) {
    if (!rank.reply || !rank.reply->contains("todo")) continue;
    fingerprint_ = "todo";
    return Failure{.verdict = VerdictClass::kTodo, .summary = concat("not written yet: ", text_of(rank, "todo"))};
  }
  return std::nullopt;
}

// Findings of the emulator's checker in a kernel.
std::optional<Failure> FailureExplainer::find_findings() {
  for (const TrialRank& rank : ranks_.all()) {
    if (!rank.reply || !rank.reply->contains("findings")) continue;
    const std::vector<KernelFinding> findings = findings_in(rank.reply->at("findings"));
    if (findings.empty()) continue;
    fingerprint_ = concat("finding ", findings.front().behaviour);  // the other findings depend on the line breaks
    return failure_of(findings, subject_.source_folder, subject_.sources);
  }
  return std::nullopt;
}

std::optional<Failure> FailureExplainer::find_crash() {
  for (std::size_t i = 0; i < ranks_.all().size(); ++i) {
    TrialRank& rank = ranks_.all()[i];
    if (rank.reply) continue;
    const Clock::time_point until = Clock::now() + milliseconds(500);
    while (!rank.process.has_ended() && Clock::now() < until) ::poll(nullptr, 0, 5);
    if (!rank.process.has_ended() || !rank.has_ended) continue;
    rank.process.read_output();
    return describe_end(i, rank);
  }
  return std::nullopt;
}

// If a sandbox has not started its program, nothing is known about the program.
void FailureExplainer::require_started(std::size_t number, const TrialRank& rank) const {
  if (subject_.sandbox.empty() || rank.process.first_output() == kSandboxMark) return;
  throw IoError(concat("the sandbox of rank ", number, " did not start its program: ", rank.process.output()));
}

// The program's end, translated back from the exit code that a sandbox reports like a shell.
EndOfProcess FailureExplainer::end_of(const TrialRank& rank) const {
  const EndOfProcess end = rank.process.end();
  constexpr int kSignalled = 128;
  if (subject_.sandbox.empty() || end.signal != 0 || end.exit_code <= kSignalled) return end;
  return {.signal = end.exit_code - kSignalled, .exit_code = 0};
}

Failure FailureExplainer::describe_end(std::size_t number, const TrialRank& rank) {
  require_started(number, rank);
  const EndOfProcess end = end_of(rank);
  const std::string& output = rank.process.output();
  Failure failure{.verdict = VerdictClass::kCrash};
  if (end.signal == 0) {
    failure.summary = concat(who(number), " exited with status ", end.exit_code, " before it had answered");
    failure.next =
        "return from the function instead of ending the process; if your file has a main(), take it out: it runs in "
        "place of the judge's";
    fingerprint_ = concat("exit ", end.exit_code);
  } else {
    const std::string violated = end.signal == SIGABRT ? violated_condition(output) : "";
    failure.summary = concat(who(number), " died of ", ::strsignal(end.signal),
                             violated.empty() ? signal_hint(end.signal) : concat(kOutOfRange, violated, ")"));
    failure.evidence = stack_lines(output, subject_);
    failure.is_killed = end.signal == SIGKILL;
    fingerprint_ = concat("signal ", end.signal, " ", violated);
  }
  append_output(failure, output);
  return failure;
}

// Exercises without communication do not mention ranks.
std::string FailureExplainer::who(std::size_t rank) const {
  return options_.world_size == 1 ? "the program" : concat("rank ", rank);
}

std::optional<Failure> FailureExplainer::find_exception() {
  std::optional<Failure> found;
  for (std::size_t i = 0; i < ranks_.all().size(); ++i) {
    const TrialRank& rank = ranks_.all()[i];
    if (!rank.reply || !rank.reply->contains("exception")) continue;
    const std::string what = text_of(rank, "exception");
    // A closed connection is the consequence of another rank's end; that rank's own message says more.
    const std::size_t closed = what.find(kClosedConnection);
    const bool is_consequence = closed != std::string::npos;
    if (found && is_consequence) continue;
    // A race decides whether it was sending or receiving, and whether the peer had unread data.
    fingerprint_ = concat("exception ", is_consequence ? without_direction(what.substr(0, closed)) : what,
                          is_consequence ? kClosedConnection : "");
    found = Failure{.verdict = VerdictClass::kCrash, .summary = concat(who(i), " threw an exception: ", what)};
    found->next = advice_on_exception(snapshot(ranks_.board(), options_.world_size)[i], what);
    append_output(*found, rank.process.output());
    if (!is_consequence) break;
  }
  return found;
}

void FailureExplainer::append_output(Failure& failure, const std::string& output) const {
  const std::vector<std::string> lines = last_lines(without_stack(output), 6);
  if (lines.empty()) return;
  failure.evidence.push_back("it printed:");
  for (const std::string& line : lines) failure.evidence.push_back("  " + line);
}

// Requests a stack from every rank that has not answered.
std::vector<std::string> FailureExplainer::stacks() {
  std::vector<std::string> lines;
  for (const TrialRank& rank : ranks_.all())
    if (!rank.is_done()) rank.process.signal_innermost(kStackSignal);
  ::poll(nullptr, 0, 150);
  for (std::size_t i = 0; i < ranks_.all().size(); ++i) {
    ranks_.all()[i].process.read_output();
    if (ranks_.all()[i].is_done()) continue;
    const auto frames = stack_lines(ranks_.all()[i].process.output(), subject_);
    if (!frames.empty()) lines.push_back(concat("rank ", i, " is in ", frames.front()));
  }
  return lines;
}

Failure FailureExplainer::explain_hang(std::chrono::milliseconds quiet) {
  const WaitReport report = explain_waits(snapshot(ranks_.board(), options_.world_size));
  fingerprint_ = concat("hang ", report.fingerprint);
  Failure failure{.verdict = VerdictClass::kHang,
                  .summary = report.summary,
                  .evidence = {concat("nothing has moved for ", quiet.count(), " ms, and every rank sleeps:")},
                  .next = report.advice};
  for (const std::string& line : report.ranks) failure.evidence.push_back("  " + line);
  for (const std::string& line : stacks()) failure.evidence.push_back("  " + line);
  return failure;
}

// Much output takes much time.
void FailureExplainer::add_printed(Failure& failure) const {
  constexpr std::uint64_t kMuch = 1'000'000;
  for (std::size_t i = 0; i < ranks_.all().size(); ++i)
    if (ranks_.all()[i].process.printed_bytes() > kMuch)
      failure.evidence.push_back(concat("  rank ", i, " has printed more than a megabyte"));
}

Failure FailureExplainer::explain_loop(std::chrono::milliseconds limit) {
  fingerprint_ = "loop";
  Failure failure{.verdict = VerdictClass::kLoop,
                  .summary = concat("no rank sends, receives or returns, but ", limit.count() / 1000,
                                    " s of processor time have been used since the last one did"),
                  .next = "look at the loop's condition: which variable in it never changes?"};
  add_printed(failure);
  for (const std::string& line : stacks()) failure.evidence.push_back("  " + line);
  return failure;
}

Failure FailureExplainer::explain_slow(std::chrono::milliseconds budget) {
  fingerprint_ = "slow";
  Failure failure{.verdict = VerdictClass::kSlow,
                  .summary = concat("it moves on, but needs more than ", options_.budget.count(), " ms",
                                    budget > options_.budget ? " (more on this machine)" : ""),
                  .next = "count how often the innermost loop runs, and how many messages there are"};
  add_printed(failure);
  for (const std::string& line : stacks()) failure.evidence.push_back("  " + line);
  return failure;
}

}  // namespace lockstep::exercise
