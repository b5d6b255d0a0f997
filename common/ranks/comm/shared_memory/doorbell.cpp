#include "comm/shared_memory/doorbell.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>

#include "base/affinity.hpp"
#include "base/cpu_quota.hpp"
#include "base/error.hpp"

namespace lockstep::comm {
namespace {

using Clock = Deadline::Clock;

constexpr WaitPolicy kOwnProcessor{.looks = 64, .rounds = 64, .spin = std::chrono::microseconds{50}};
constexpr WaitPolicy kSharedProcessor{.looks = 1, .rounds = 64, .spin = std::chrono::microseconds{50}};

// Tells the processor that this is a polling loop, so that its other thread gets the execution units.
void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

timespec to_timespec(Clock::time_point when) {
  const auto since = when.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  return {static_cast<time_t>(seconds.count()), static_cast<long>(std::chrono::nanoseconds(since - seconds).count())};
}

// Sleeps while *word == expected, at most until `until` of the steady clock (which is CLOCK_MONOTONIC). The kernel
// identifies the word by its page, so other processes find the sleeper.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, Clock::time_point until) {
  const timespec limit = to_timespec(until);
  const long status = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, &limit, nullptr, FUTEX_BITSET_MATCH_ANY);
  if (status != 0 && errno != EAGAIN && errno != EINTR && errno != ETIMEDOUT) throw IoError("futex", errno);
}

}  // namespace

// A rank that polls uses up the quota of a container like one that computes: the kernel then stops all of its ranks for
// the rest of the period.
int processors_of_this_process() {
  static const std::optional<double> quota = cpu_quota();
  const auto allowed = static_cast<double>(allowed_cpus().size());
  return std::max(1, static_cast<int>(quota ? std::min(allowed, *quota) : allowed));
}

void Doorbell::wake() noexcept {
  rings.fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &rings, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

WaitPolicy WaitPolicy::for_ranks(int ranks_on_host) {
  return ranks_on_host <= processors_of_this_process() ? kOwnProcessor : kSharedProcessor;
}

bool Waiter::wait_slowly(Condition is_ready, const void* condition, const Deadline& deadline) {
  std::chrono::nanoseconds spun{0};
  for (int round = 0; round < policy_.rounds && spun < policy_.spin; ++round) {
    const auto begin = Clock::now();
    for (int look = 0; look < policy_.looks; ++look) {
      if (is_ready(condition)) return true;
      relax();
    }
    spun += Clock::now() - begin;
    ::sched_yield();
  }
  return sleep(is_ready, condition, deadline);
}

bool Waiter::sleep(Condition is_ready, const void* condition, const Deadline& deadline) {
  for (;;) {
    if (check_) check_();
    const std::uint32_t rings = own_->rings.load(std::memory_order_seq_cst);
    own_->is_sleeping.store(1, std::memory_order_seq_cst);
    const bool is_done = is_ready(condition);
    if (!is_done) futex_wait(own_->rings, rings, std::min(Clock::now() + kSlice, deadline.when()));
    own_->is_sleeping.store(0, std::memory_order_seq_cst);
    if (is_done || is_ready(condition)) return true;
    if (deadline.has_expired()) return false;
  }
}

}  // namespace lockstep::comm
