#include "exercise/subject.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "07_launch_and_survive/4_join/join.hpp"

namespace lockstep::exercise {
namespace {

constexpr int kMostCalls = 2000;  // of the store, by one process

// How the call of a process ended.
enum class End : std::int64_t { kJoined = 0, kRefused = 1, kTimedOut = 2, kStoreTimedOut = 3 };

struct Process {
  elastic::Member member;
  End end = End::kJoined;
  std::int64_t refusal = -1;
  std::vector<int> missing = {};
  std::int64_t started_before_end = 0;  // bit i: process i had made its first call by then
  std::vector<std::string> calls = {};
};

// A store whose callers run one at a time, in an order that is the same each time. The turn goes on when a process
// waits, or after each call. When all of them wait for keys that nobody sets, the deadline has passed.
class TurnStore {
 public:
  TurnStore(std::map<std::string, std::string>& values, std::size_t processes, bool alternates)
      : values_(values), states_(processes, State::kReady), alternates_(alternates) {}

  // Returns when it is this process's turn for the first time.
  void begin(std::size_t process) {
    std::unique_lock lock(mutex_);
    await_turn(lock, process);
  }
  void end(std::size_t process) {
    const std::scoped_lock lock(mutex_);
    states_[process] = State::kEnded;
    pass_turn(process);
  }
  // After each call that does not wait.
  void call_ends(std::size_t process) {
    if (!alternates_) return;
    std::unique_lock lock(mutex_);
    pass_turn(process);
    await_turn(lock, process);
  }
  // Whether the key exists, at last.
  bool wait_for(std::size_t process, const std::string& key) {
    std::unique_lock lock(mutex_);
    while (!values_.contains(key) && !is_expired_) {
      states_[process] = State::kWaiting;
      pass_turn(process);
      await_turn(lock, process);
    }
    return values_.contains(key);
  }
  // Who waits may look again.
  void wake_all() {
    const std::scoped_lock lock(mutex_);
    std::ranges::replace(states_, State::kWaiting, State::kReady);
  }

 private:
  enum class State { kReady, kWaiting, kEnded };

  void await_turn(std::unique_lock<std::mutex>& lock, std::size_t process) {
    turn_changed_.wait(lock, [&] { return turn_ == process; });
  }

  void pass_turn(std::size_t from) {
    if (std::ranges::find(states_, State::kReady) == states_.end()) {
      is_expired_ = true;
      std::ranges::replace(states_, State::kWaiting, State::kReady);
    }
    for (std::size_t i = 1; i <= states_.size(); ++i) {
      turn_ = (from + i) % states_.size();
      if (states_[turn_] == State::kReady) break;
    }
    turn_changed_.notify_all();
  }

  std::map<std::string, std::string>& values_;
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::size_t turn_ = 0;
  std::vector<State> states_;
  bool alternates_, is_expired_ = false;
};

// One process's view of the store. Only who has the turn calls, so nothing else is to be locked.
class View final : public elastic::KeyValueStore {
 public:
  View(std::map<std::string, std::string>& values, TurnStore& turns, std::vector<Process>& processes, std::size_t own)
      : values_(values), turns_(turns), process_(processes[own]), own_(own) {}

  void set(const std::string& key, const std::string& value) override {
    note(concat("set(", key, ", ", value, ")"));
    values_[key] = value;
    finish();
  }
  [[nodiscard]] std::optional<std::string> try_get(const std::string& key) override {
    const auto found = values_.find(key);
    std::optional<std::string> value;
    if (found != values_.end()) value = found->second;
    note(concat("try_get(", key, ") = ", value.value_or("nothing")));
    finish();
    return value;
  }
  std::string wait(const std::string& key) override {
    note(concat("wait(", key, ")"));
    if (!turns_.wait_for(own_, key)) throw TimeoutError(concat("nobody has set ", key, " by the deadline"));
    const std::string value = values_.at(key);
    finish();
    return value;
  }
  std::int64_t add(const std::string& key, std::int64_t amount) override {
    const std::string before = values_.contains(key) ? values_.at(key) : "0";
    const std::int64_t sum = std::stoll(before) + amount;
    note(concat("add(", key, ", ", amount, ") = ", sum));
    values_[key] = std::to_string(sum);
    finish();
    return sum;
  }
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override {
    const auto found = values_.find(key);
    if (found == values_.end() ? expected.empty() : found->second == expected) values_[key] = desired;
    const std::string value = values_.contains(key) ? values_.at(key) : "";
    note(concat("compare_set(", key, ", ", desired, ") = ", value));
    finish();
    return value;
  }

 private:
  void note(const std::string& call) {
    require(std::ssize(process_.calls) < kMostCalls, "join: more than ", kMostCalls,
            " calls of the store by one process; wait() waits without asking again and again");
    process_.calls.push_back(call);
  }
  void finish() {
    turns_.wake_all();
    turns_.call_ends(own_);
  }

  std::map<std::string, std::string>& values_;
  TurnStore& turns_;
  Process& process_;
  std::size_t own_;
};

void join_as(Process& process, elastic::KeyValueStore& store, std::exception_ptr& failure) {
  try {
    elastic::join(store, process.member);
  } catch (const elastic::JoinRefused& refused) {
    process.end = End::kRefused;
    process.refusal = static_cast<std::int64_t>(refused.refusal());
  } catch (const elastic::JoinTimeout& timeout) {
    process.end = End::kTimedOut;
    process.missing = timeout.missing();
  } catch (const TimeoutError&) {
    process.end = End::kStoreTimedOut;
  } catch (...) {  // rethrown when all have ended
    failure = std::current_exception();
  }
}

// One generation: its processes, each on a thread of its own.
void run_together(std::map<std::string, std::string>& values, std::vector<Process>& processes, bool alternates) {
  TurnStore turns(values, processes.size(), alternates);
  std::vector<std::exception_ptr> failures(processes.size());
  std::vector<std::jthread> threads;
  for (std::size_t own = 0; own < processes.size(); ++own)
    threads.emplace_back([&, own] {
      turns.begin(own);
      View store(values, turns, processes, own);
      join_as(processes[own], store, failures[own]);
      for (std::size_t other = 0; other < processes.size(); ++other)
        if (!processes[other].calls.empty()) processes[own].started_before_end |= std::int64_t{1} << other;
      turns.end(own);
    });
  threads.clear();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

void set_ends(Answer& result, const std::vector<Process>& processes, std::size_t round) {
  std::vector<std::int64_t> ends, refusals, started, missing;
  for (const Process& process : processes) {
    ends.push_back(static_cast<std::int64_t>(process.end));
    refusals.push_back(process.refusal);
    started.push_back(process.started_before_end);
    for (const int rank : process.missing) missing.push_back(rank);
    missing.push_back(-1);  // the list's end
    const std::size_t shown = std::min<std::size_t>(process.calls.size(), 12);
    for (std::size_t i = 0; i < shown; ++i)
      result.remark(concat("round ", round, ", ", process.member.process, ": ", process.calls[i]));
  }
  result.set_numbers<std::int64_t>(concat("ends_", round), ends);
  result.set_numbers<std::int64_t>(concat("refusals_", round), refusals);
  result.set_numbers<std::int64_t>(concat("started_", round), started);
  result.set_numbers<std::int64_t>(concat("missing_", round), missing);
}

// The result of missing_ranks() before anybody has come, and whether it waits for somebody.
Answer ask_for_missing() {
  std::map<std::string, std::string> values = {{elastic::kNewestGeneration, "0"}};
  std::vector<Process> processes = {{.member = {.process = "process 0", .rank = 0, .world_size = 3, .generation = 0}}};
  TurnStore turns(values, processes.size(), false);
  View store(values, turns, processes, 0);
  std::vector<std::int64_t> missing;
  for (const int rank : elastic::missing_ranks(store, processes[0].member)) missing.push_back(rank);
  Answer result;
  result.set_numbers<std::int64_t>("missing", missing);
  result.set<bool>("has_waited", std::ranges::any_of(processes[0].calls, [](const std::string& call) {
                     return call.starts_with("wait(");
                   }));
  return result;
}

}  // namespace

// With "asks_for_missing", calls missing_ranks() alone. Otherwise rounds in the same store, one after another.
// "processes" has a row for each: round, rank, world size, generation.
Answer answer(Question& question) {
  if (question.get<bool>("asks_for_missing")) return ask_for_missing();
  const std::vector<std::int64_t> rows = question.numbers<std::int64_t>("processes"),
                                  newest = question.numbers<std::int64_t>("newest");
  const bool alternates = question.get<bool>("alternates");
  std::map<std::string, std::string> values;
  Answer result;
  std::size_t number = 0;
  for (std::size_t round = 0; round < newest.size(); ++round) {
    values[elastic::kNewestGeneration] = std::to_string(newest[round]);
    std::vector<Process> processes;
    for (std::size_t at = 0; at < rows.size(); at += 4) {
      if (rows[at] != static_cast<std::int64_t>(round)) continue;
      processes.push_back({.member = {.process = concat("process ", number++),
                                      .rank = static_cast<int>(rows[at + 1]),
                                      .world_size = static_cast<int>(rows[at + 2]),
                                      .generation = static_cast<int>(rows[at + 3])}});
    }
    run_together(values, processes, alternates);
    set_ends(result, processes, round);
  }
  return result;
}

}  // namespace lockstep::exercise
