#pragma once
/// @file
/// Waiting for another rank through shared memory: poll briefly, then yield the processor, then sleep.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "base/deadline.hpp"

namespace lockstep::comm {

/// One thread sleeps on it until others ring. Lives in memory shared by processes; all zeros is a valid initial state,
/// so that new pages need no constructor.
///
/// The ringer writes the awaited value with std::memory_order_seq_cst and then calls ring(); the sleeper reads it with
/// the same order. So either the sleeper sees the change or the ringer sees the sleeper.
/// Thread safety: any thread or process may ring; one thread at a time waits.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> rings{0};        ///< Count of rings; the futex word.
  std::atomic<std::uint32_t> is_sleeping{0};  ///< Set while the owner may be inside the system call.

  /// Wakes the sleeper, if there is one. @cost  One read if nobody sleeps, a system call otherwise.
  void ring() noexcept {
    if (is_sleeping.load(std::memory_order_seq_cst) != 0) wake();
  }

 private:
  void wake() noexcept;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "a lock would live in one process only");

/// Number of processors that this process may keep busy, by its affinity mask and by cpu_quota(); at least 1.
[[nodiscard]] int processors_of_this_process();

/// Polling before sleep: rounds of polls, each followed by sched_yield, which costs little if no other thread needs the
/// processor. Without the yields, a polling rank could keep the rank that it waits for off the processor as soon as
/// anything else runs on the machine.
struct WaitPolicy {
  int looks = 1;                     ///< Polls per round; more polls react faster.
  int rounds = 0;                    ///< At most.
  std::chrono::nanoseconds spin{0};  ///< Limit on polling time; time in which others ran does not count.

  /// Polls often if every rank of the host has its own processor; otherwise once per round.
  [[nodiscard]] static WaitPolicy for_ranks(int ranks_on_host);
};

/// One thread's waits at one doorbell. Thread safety: one thread.
class Waiter {
 public:
  /// Sleeps are cut into slices of this length, between which `check` runs.
  static constexpr std::chrono::milliseconds kSlice{50};

  /// @param own    Where this thread sleeps; must outlive this object.
  /// @param check  Throws if waiting is useless, for example because the job has failed; may be empty. Called at least
  ///               every kSlice.
  Waiter(Doorbell& own, const WaitPolicy& policy, std::function<void()> check)
      : own_(&own), policy_(policy), check_(std::move(check)) {}

  /// Waits until `ready()` is true. It is called often and must only read.
  /// @return  False if `deadline` passed first. @throws Whatever `check` throws.
  template <typename Ready>
  [[nodiscard]] bool wait(const Ready& ready, const Deadline& deadline) {
    if (ready()) return true;
    const auto call = [](const void* condition) { return (*static_cast<const Ready*>(condition))(); };
    return wait_slowly(call, &ready, deadline);
  }

 private:
  using Condition = bool (*)(const void*);
  [[nodiscard]] bool wait_slowly(Condition is_ready, const void* condition, const Deadline& deadline);
  [[nodiscard]] bool sleep(Condition is_ready, const void* condition, const Deadline& deadline);

  Doorbell* own_;
  WaitPolicy policy_;
  std::function<void()> check_;
};

}  // namespace lockstep::comm
