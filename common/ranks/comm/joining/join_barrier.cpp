#include "comm/joining/join_barrier.hpp"

#include <unistd.h>

#include <chrono>
#include <vector>

#include "base/error.hpp"
#include "base/number_list.hpp"
#include "comm/joining/versions.hpp"

namespace lockstep::comm {
namespace {

// How long ranks wait for the one that lists the missing ranks; rank 0 keeps the store a little longer.
constexpr std::chrono::milliseconds kFindingsLimit{1500};

std::string list_ranks(const std::vector<int>& ranks) { return ranks.empty() ? "none" : list_numbers(ranks); }

}  // namespace

void JoinBarrier::check_in(const Deadline& deadline) {
  const Versions own = own_versions();
  take_place(concat("process ", ::getpid(), " on ", own.host));
  check_world_size();
  publish_versions(store_, prefix_, member_.rank, own);
  if (store_.add(prefix_ + "count", 1) == member_.world_size) {
    store_.compare_set(prefix_ + "verdict", "", "ok");
  }
  wait_for_verdict(deadline);
}

std::string JoinBarrier::renewal() const { return meetings_before_ == 0 ? "" : concat("again/", meetings_before_); }

std::string JoinBarrier::host_of(int rank, const Deadline& deadline) {
  return read_versions(store_, prefix_, rank, deadline).host;
}

std::string JoinBarrier::differences(const Deadline& deadline) {
  std::vector<Versions> by_rank;
  for (int rank = 0; rank < member_.world_size; ++rank) {
    by_rank.push_back(read_versions(store_, prefix_, rank, deadline));
  }
  return describe_differences(by_rank);
}

// Takes this rank's place at the first meeting where it is free. At earlier meetings this process must have had it and
// all ranks must have come; otherwise another process, or another thread of this one, has the same rank.
void JoinBarrier::take_place(const std::string& own) {
  for (meetings_before_ = 0;; ++meetings_before_) {
    prefix_ = concat(renewal(), meetings_before_ == 0 ? "" : "/", "generation/", member_.generation, "/join/");
    const std::string key = concat(prefix_, "rank/", member_.rank);
    const std::string first = store_.compare_set(key, "", own);
    if (first != own) fail(concat("two processes have RANK=", member_.rank, ": ", first, " and ", own));
    if (store_.add(key + "/count", 1) == 1) return;
    if (store_.try_get(prefix_ + "verdict") == "ok") continue;
    fail(concat("two processes have RANK=", member_.rank, ": ", own,
                " and the same one again, before all ranks had joined"));
  }
}

void JoinBarrier::check_world_size() {
  const std::string own = concat(member_.world_size, " on rank ", member_.rank);
  const std::string first = store_.compare_set(prefix_ + "world_size", "", own);
  if (first.starts_with(concat(member_.world_size, " "))) return;
  fail(concat("ranks disagree on the world size: it is ", first, " and ", own));
}

// The verdict stays "ok" if the job is complete: then only the surplus process fails.
void JoinBarrier::fail(const std::string& message) {
  store_.compare_set(prefix_ + "verdict", "", message);
  throw MismatchError(concat("rank ", member_.rank, ": ", message));
}

void JoinBarrier::wait_for_verdict(const Deadline& deadline) {
  std::string verdict;
  try {
    verdict = store_.get(prefix_ + "verdict", deadline);
  } catch (const TimeoutError&) {
    throw TimeoutError(missing_message(deadline));
  }
  if (verdict != "ok") throw MismatchError(concat("rank ", member_.rank, ": ", verdict));
}

std::string JoinBarrier::missing_message(const Deadline& deadline) {
  const std::string start =
      concat("rank ", member_.rank, ": not all ranks joined within ", format_seconds(deadline.waited()));
  const std::string key = prefix_ + "missing";
  std::int64_t asking = 0;
  try {
    asking = store_.add(key + "/count", 1);
  } catch (const TimeoutError& error) {  // nor may it have replied to the ranks that came
    return concat(start, "; ", error.what());
  } catch (const Error&) {
  }
  try {
    // The first rank asks about each of the others. If all did, a job of P ranks would send P * P requests.
    if (asking == 1) store_.set(key, who_has_come());
    return start + store_.get(key, Deadline::after(kFindingsLimit));
  } catch (const Error&) {  // that rank, or the store, has gone
    return concat(start, "; another rank's message may say which are missing");
  }
}

std::string JoinBarrier::who_has_come() {
  std::vector<int> present, missing;
  for (int rank = 0; rank < member_.world_size; ++rank) {
    const bool is_present = store_.try_get(concat(prefix_, "rank/", rank)).has_value();
    (is_present ? present : missing).push_back(rank);
  }
  return concat("; present: ", list_ranks(present), "; missing: ", list_ranks(missing));
}

}  // namespace lockstep::comm
