#include "exercise/trial.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/plain_text.hpp"
#include "exercise/machine_factor.hpp"
#include "exercise/message.hpp"
#include "exercise/progress_board.hpp"
#include "exercise/rank_process.hpp"
#include "exercise/stack_text.hpp"
#include "exercise/trial_layout.hpp"
#include "exercise/wait_graph.hpp"

namespace lockstep::exercise {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{10};
constexpr milliseconds kQuiet{1000};         // nothing moves and everybody sleeps: a hang
constexpr milliseconds kQuietAtStart{5000};  // the same before the learner's code has begun
constexpr std::int64_t kIdleShare = 20;      // a rank that computes for less than 1/20 of the time sleeps
constexpr std::int64_t kLoopMilliseconds = 3000;
constexpr std::chrono::seconds kForAsking{20};  // until all ranks have taken their questions
// Of all answers together: what a rank sends must not be able to exhaust the judge's memory.
constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 20;
constexpr std::size_t kMostAnswerValues = 100'000;
constexpr std::size_t kMostText = 10'000;  // of an exception or a remark
constexpr std::size_t kMostRemarks = 200;
constexpr std::string_view kOutOfRange = " (an index or a length that its vector or span does not have: not ";
// For the others, once one rank has failed; and for those that only lack a processor to say what they have to say.
constexpr milliseconds kLastWords{300}, kLastWordsOfBusy{1500};
constexpr milliseconds kDelay{200}, kLongestDelay{3000};  // of the rank that begins after the others

std::pair<UniqueFd, UniqueFd> connected_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) throw IoError("cannot connect ranks", errno);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void make_buffers_small(const UniqueFd& fd) {
  const int bytes = 1;  // the kernel takes its minimum instead
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

// Connections between all ranks: ends[r][p] is rank r's to rank p.
std::vector<std::map<int, UniqueFd>> connect_all(int world_size, bool has_small_buffers) {
  std::vector<std::map<int, UniqueFd>> ends(static_cast<std::size_t>(world_size));
  for (int a = 0; a < world_size; ++a) {
    for (int b = a + 1; b < world_size; ++b) {
      auto [first, second] = connected_pair();
      if (has_small_buffers) {
        make_buffers_small(first);
        make_buffers_small(second);
      }
      ends[a][b] = std::move(first);
      ends[b][a] = std::move(second);
    }
  }
  return ends;
}

// One rank: its process, its connection to the judge, and what has come of it.
struct Rank {
  RankProcess process;
  UniqueFd control;
  MessageReader reader;
  std::optional<nlohmann::json> reply;
  bool has_ended = false;

  [[nodiscard]] bool is_done() const { return reply.has_value() || has_ended; }
  [[nodiscard]] bool has_answered() const { return reply && reply->contains("values"); }
};

class Trial {
 public:
  Trial(const Subject& subject, const TrialOptions& options)
      : subject_(subject), options_(options), board_(ProgressBoard::create()) {
    require(options.world_size >= 1 && options.world_size <= kMostRanks, "exercise: a trial of ", options.world_size,
            " ranks; 1 to ", kMostRanks, " are possible");
    start_all();
  }

  Outcome run() {
    ask_all();
    const Failure failure = watch();
    Outcome outcome;
    outcome.failure = failure;
    outcome.fingerprint = fingerprint_;
    for (const Rank& rank : ranks_) outcome.answer_bytes += rank.reader.taken_bytes();
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].process.read_output();
      const RankProgress& progress = board_.of(static_cast<int>(rank));
      outcome.ranks.push_back({ranks_[rank].has_answered() ? ranks_[rank].reply->at("values") : nlohmann::json(),
                               progress.bytes_sent, progress.messages_sent,
                               without_stack(ranks_[rank].process.output()), remarks_of(ranks_[rank])});
    }
    for (Rank& rank : ranks_) rank.process.kill();
    return outcome;
  }

 private:
  void start_all() {
    const auto ends = connect_all(options_.world_size, options_.has_small_buffers);
    for (int rank = 0; rank < options_.world_size; ++rank) {
      auto [ours, theirs] = connected_pair();
      std::vector<PassedDescriptor> passed = {{kControlFd, theirs.get()}, {kBoardFd, board_.fd()}};
      for (const auto& [peer, fd] : ends[rank]) passed.push_back({kFirstLinkFd + peer, fd.get()});
      std::vector<std::string> variables = options_.variables;
      variables.push_back(concat(kRankVariable, "=", rank));
      const auto world_size = static_cast<std::size_t>(options_.world_size);
      const MessageLimits limits{.bytes = kMostAnswerBytes / world_size, .values = kMostAnswerValues / world_size};
      ranks_.push_back(
          {RankProcess(subject_.command(), variables, passed), std::move(ours), MessageReader(limits), {}});
    }
  }

  // A rank that does not take its question hangs before it has begun: watch() says so.
  void ask(int rank, Clock::time_point end) {
    std::vector<int> peers;
    for (int peer = 0; peer < options_.world_size; ++peer)
      if (peer != rank) peers.push_back(peer);
    try {
      const nlohmann::json question = {{"rank", rank},
                                       {"world_size", options_.world_size},
                                       {"peers", peers},
                                       {"most_at_once", options_.most_at_once},
                                       {"mistake", subject_.mistake},
                                       {"values", options_.question(rank)}};
      (void)send_message_until(ranks_[rank].control.get(), question, end);
    } catch (const IoError&) {
      // It has gone, perhaps after an answer: look() reads what it has left.
    }
  }

  void ask_all() {
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(kForAsking * subject_.patience);
    for (int rank = 0; rank < options_.world_size; ++rank)
      if (rank != options_.delayed_rank) ask(rank, end);
    if (options_.delayed_rank < 0) return;
    await_others();
    ask(options_.delayed_rank, end);
  }

  // The others do what they can without the delayed rank, and a busy machine needs longer for that than kDelay.
  void await_others() {
    const Clock::time_point begin = Clock::now();
    const auto longest = std::chrono::duration_cast<Clock::duration>(kLongestDelay * subject_.patience);
    do {
      ::poll(nullptr, 0, static_cast<int>(kDelay.count()));
    } while (!are_all_settled_without(options_.delayed_rank) && Clock::now() - begin < longest);
  }

  [[nodiscard]] bool are_all_settled_without(int absent) {
    for (int rank = 0; rank < options_.world_size; ++rank) {
      RankProcess& process = ranks_[rank].process;
      const bool has_begun = process.has_ended() || board_.of(rank).state != RankState::kStarting;
      if (rank != absent && (!has_begun || process.is_runnable())) return false;
    }
    return true;
  }

  // Waits for a moment, then takes in answers, output and ends.
  void look() {
    std::vector<pollfd> events;
    for (const Rank& rank : ranks_)
      if (!rank.is_done()) events.push_back({rank.control.get(), POLLIN, 0});
    ::poll(events.data(), events.size(), static_cast<int>(kLook.count()));
    for (Rank& rank : ranks_) {
      rank.process.read_output();
      if (rank.is_done()) continue;
      try {
        const bool is_open = rank.reader.read_from(rank.control.get());
        rank.reply = rank.reader.take();
        if (!is_open && !rank.reply) rank.has_ended = true;
      } catch (const FormatError& error) {
        rank.reply = nlohmann::json{{"exception", error.what()}};
      } catch (const IoError&) {
        rank.has_ended = true;
      }
    }
  }

  Failure watch() {
    const Clock::time_point begin = Clock::now();
    const double factor = machine_factor().wall;
    const auto budget = std::chrono::duration_cast<milliseconds>(options_.budget * factor * subject_.patience);
    const auto quiet_at_start = std::chrono::duration_cast<milliseconds>(kQuietAtStart * subject_.patience);
    mark_quiet();
    while (true) {
      look();
      if (std::ranges::all_of(ranks_, &Rank::has_answered)) return {.verdict = VerdictClass::kPassed};
      if (std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.is_done() && !rank.has_answered(); }))
        return explain_failure();
      if (moves() != moves_) mark_quiet();
      const Clock::duration quiet = Clock::now() - quiet_since_;
      if (quiet > (has_begun() ? kQuiet : quiet_at_start)) {
        const std::int64_t computed = processor_time() - processor_time_;
        const std::int64_t passed = std::chrono::duration_cast<milliseconds>(quiet).count();
        const bool is_runnable =
            std::ranges::any_of(ranks_, [](const Rank& rank) { return !rank.is_done() && rank.process.is_runnable(); });
        if (!is_runnable && computed * kIdleShare < passed) return explain_hang();
        if (static_cast<double>(computed) > kLoopMilliseconds * machine_factor().processor) return explain_loop();
      }
      // Who sleeps before the learner's code begins is not slow: that is a hang, found after quiet_at_start.
      const milliseconds limit = has_begun() ? budget : budget + quiet_at_start;
      if (Clock::now() - begin > limit && Clock::now() - begin > limit + taken_by_others(budget))
        return explain_slow(budget);
    }
  }

  // What the ranks have lost to other processes, which is not theirs to answer for; within limits, because ranks that
  // compute without end take processors from each other too.
  [[nodiscard]] milliseconds taken_by_others(milliseconds budget) const {
    milliseconds sum{0};
    for (const Rank& rank : ranks_) sum += milliseconds(rank.process.waiting_milliseconds());
    return std::min(sum, 3 * budget);
  }

  // A long answer on its way is a movement, too: the rank sleeps whenever the judge has not read what it has sent.
  [[nodiscard]] std::uint64_t moves() const {
    std::uint64_t sum = 0;
    for (int rank = 0; rank < options_.world_size; ++rank)
      sum += board_.of(rank).moves + ranks_[rank].is_done() + ranks_[rank].reader.received_bytes();
    return sum;
  }

  [[nodiscard]] bool has_begun() const {
    for (int rank = 0; rank < options_.world_size; ++rank)
      if (board_.of(rank).state == RankState::kStarting) return false;
    return true;
  }

  [[nodiscard]] std::int64_t processor_time() const {
    std::int64_t sum = 0;
    for (const Rank& rank : ranks_)
      if (!rank.is_done()) sum += rank.process.processor_milliseconds();
    return sum;
  }

  void mark_quiet() {
    moves_ = moves();
    quiet_since_ = Clock::now();
    processor_time_ = processor_time();
  }

  // One rank has failed; the others may fail because of it, or may be the cause and a little later.
  Failure explain_failure() {
    const Clock::time_point begin = Clock::now();
    const auto longest = std::chrono::duration_cast<Clock::duration>(kLastWordsOfBusy * subject_.patience);
    while (Clock::now() - begin < longest && std::ranges::any_of(ranks_, [&](const Rank& rank) {
             return !rank.is_done() && (Clock::now() - begin < kLastWords || rank.process.is_runnable());
           }))
      look();
    for (Rank& rank : ranks_) rank.process.read_output();
    for (const auto& explain : {&Trial::find_todo, &Trial::find_findings, &Trial::find_crash, &Trial::find_exception})
      if (const auto failure = (this->*explain)()) return *failure;
    return {.verdict = VerdictClass::kCrash, .summary = "a rank ended without an answer"};
  }

  std::optional<Failure> find_todo() {
    for (const Rank& rank : ranks_) {
      if (!rank.reply || !rank.reply->contains("todo")) continue;
      fingerprint_ = "todo";
      return Failure{.verdict = VerdictClass::kTodo, .summary = concat("not written yet: ", text_of(rank, "todo"))};
    }
    return std::nullopt;
  }

  // What the emulator's checker has found in a kernel.
  std::optional<Failure> find_findings() {
    for (const Rank& rank : ranks_) {
      if (!rank.reply || !rank.reply->contains("findings")) continue;
      const std::vector<KernelFinding> findings = findings_in(rank.reply->at("findings"));
      if (findings.empty()) continue;
      fingerprint_ = concat("finding ", findings.front().behaviour);  // others depend on how lines are broken
      return failure_of(findings, subject_.source_folder, subject_.sources);
    }
    return std::nullopt;
  }

  std::optional<Failure> find_crash() {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      Rank& rank = ranks_[i];
      if (rank.reply) continue;
      const Clock::time_point until = Clock::now() + milliseconds(500);
      while (!rank.process.has_ended() && Clock::now() < until) ::poll(nullptr, 0, 5);
      if (!rank.process.has_ended() || !rank.has_ended) continue;
      rank.process.read_output();
      return describe_end(i, rank);
    }
    return std::nullopt;
  }

  // A sandbox that has not started its program: nothing is known of the program.
  void require_started(std::size_t number, const Rank& rank) const {
    if (subject_.sandbox.empty() || rank.process.first_output() == kSandboxMark) return;
    throw IoError(concat("the sandbox of rank ", number, " did not start its program: ", rank.process.output()));
  }

  // How the program has ended, where a sandbox in between says it as shells do.
  [[nodiscard]] EndOfProcess end_of(const Rank& rank) const {
    const EndOfProcess end = rank.process.end();
    constexpr int kSignalled = 128;
    if (subject_.sandbox.empty() || end.signal != 0 || end.exit_code <= kSignalled) return end;
    return {.signal = end.exit_code - kSignalled, .exit_code = 0};
  }

  Failure describe_end(std::size_t number, const Rank& rank) {
    require_started(number, rank);
    const EndOfProcess end = end_of(rank);
    const std::string& output = rank.process.output();
    Failure failure{.verdict = VerdictClass::kCrash};
    if (end.signal == 0) {
      failure.summary = concat(who(number), " exited with status ", end.exit_code, " before it had answered");
      failure.next = "return from the function instead of ending the process";
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

  // Exercises without communication do not speak of ranks.
  [[nodiscard]] std::string who(std::size_t rank) const {
    return options_.world_size == 1 ? "the program" : concat("rank ", rank);
  }

  // Of the standard library's check of an index or a length (_GLIBCXX_ASSERTIONS): "__n < this->size()"; empty: none.
  static std::string violated_condition(const std::string& output) {
    constexpr std::string_view kBegin = ": Assertion '", kEnd = "' failed.";
    const std::size_t begin = output.find(kBegin);
    if (begin == std::string::npos) return "";
    const std::size_t end = output.find(kEnd, begin);
    return end == std::string::npos ? "" : output.substr(begin + kBegin.size(), end - begin - kBegin.size());
  }

  static std::string signal_hint(int signal) {
    if (signal == SIGSEGV) return " (it read or wrote memory that is not its own)";
    if (signal == SIGABRT) return " (an uncaught exception, or the C library found its memory damaged)";
    if (signal == SIGFPE) return " (an integer was divided by zero)";
    if (signal == SIGKILL) return " (killed: by the memory limit, perhaps)";
    return "";
  }

  std::optional<Failure> find_exception() {
    std::optional<Failure> found;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const Rank& rank = ranks_[i];
      if (!rank.reply || !rank.reply->contains("exception")) continue;
      const std::string what = text_of(rank, "exception");
      // A connection that closes is the consequence of another rank's end; that rank's own words say more.
      const std::size_t closed = what.find(kClosedConnection);
      const bool is_consequence = closed != std::string::npos;
      if (found && is_consequence) continue;
      // Whether it was sending or receiving, and whether the peer had left something unread, depends on who was faster.
      fingerprint_ = concat("exception ", is_consequence ? without_direction(what.substr(0, closed)) : what,
                            is_consequence ? kClosedConnection : "");
      found = Failure{.verdict = VerdictClass::kCrash, .summary = concat(who(i), " threw an exception: ", what)};
      found->next = advice_on_exception(snapshot(board_, options_.world_size)[i], what);
      append_output(*found, rank.process.output());
      if (!is_consequence) break;
    }
    return found;
  }

  // "rank 1: " for "sending to rank 1: " and for "receiving from rank 1: ".
  static std::string without_direction(std::string text) {
    for (const std::string_view direction : {"sending to ", "receiving from "})
      if (const std::size_t at = text.find(direction); at != std::string::npos) text.erase(at, direction.size());
    return text;
  }

  static std::vector<std::string> remarks_of(const Rank& rank) {
    if (!rank.has_answered() || !rank.reply->contains("remarks")) return {};
    std::vector<std::string> remarks = rank.reply->at("remarks").get<std::vector<std::string>>();
    if (remarks.size() > kMostRemarks) remarks.resize(kMostRemarks);
    for (std::string& remark : remarks) remark = plain_text(remark, kMostText, LineBreaks::kReplace);
    return remarks;
  }

  static std::string text_of(const Rank& rank, const char* name) {
    const nlohmann::json& value = rank.reply->at(name);
    return value.is_string() ? plain_text(value.get_ref<const std::string&>(), kMostText, LineBreaks::kKeep) : "";
  }

  void append_output(Failure& failure, const std::string& output) const {
    const std::vector<std::string> lines = last_lines(without_stack(output), 6);
    if (lines.empty()) return;
    failure.evidence.push_back("it printed:");
    for (const std::string& line : lines) failure.evidence.push_back("  " + line);
  }

  // Asks every rank that has not answered for its stack.
  std::vector<std::string> stacks() {
    std::vector<std::string> lines;
    for (const Rank& rank : ranks_)
      if (!rank.is_done()) rank.process.signal_innermost(kStackSignal);
    ::poll(nullptr, 0, 150);
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].process.read_output();
      if (ranks_[i].is_done()) continue;
      const auto frames = stack_lines(ranks_[i].process.output(), subject_);
      if (!frames.empty()) lines.push_back(concat("rank ", i, " is in ", frames.front()));
    }
    return lines;
  }

  // Messages hold no measured times: equal programs get equal feedback.
  Failure explain_hang() {
    const WaitReport report = explain_waits(snapshot(board_, options_.world_size));
    fingerprint_ = concat("hang ", report.fingerprint);
    Failure failure{.verdict = VerdictClass::kHang,
                    .summary = report.summary,
                    .evidence = {concat("nothing has moved for ", (has_begun() ? kQuiet : kQuietAtStart).count(),
                                        " ms, and every rank sleeps:")},
                    .next = report.advice};
    for (const std::string& line : report.ranks) failure.evidence.push_back("  " + line);
    for (const std::string& line : stacks()) failure.evidence.push_back("  " + line);
    return failure;
  }

  Failure explain_loop() {
    fingerprint_ = "loop";
    Failure failure{.verdict = VerdictClass::kLoop,
                    .summary = concat("no rank sends, receives or returns, but ", kLoopMilliseconds / 1000,
                                      " s of processor time have been used since the last one did"),
                    .next = "look at the loop's condition: which variable in it never changes?"};
    for (const std::string& line : stacks()) failure.evidence.push_back("  " + line);
    return failure;
  }

  Failure explain_slow(milliseconds budget) {
    fingerprint_ = "slow";
    Failure failure{.verdict = VerdictClass::kSlow,
                    .summary = concat("it moves on, but needs more than ", options_.budget.count(), " ms",
                                      budget > options_.budget ? " (more on this machine)" : ""),
                    .next = "count how often the innermost loop runs, and how many messages there are"};
    for (const std::string& line : stacks()) failure.evidence.push_back("  " + line);
    return failure;
  }

  const Subject& subject_;
  const TrialOptions& options_;
  ProgressBoard board_;
  std::vector<Rank> ranks_;
  std::string fingerprint_;
  std::uint64_t moves_ = 0;
  std::int64_t processor_time_ = 0;
  Clock::time_point quiet_since_;
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
