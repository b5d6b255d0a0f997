#pragma once
/// @file
/// How a rank waits for another one through shared memory: it looks for a moment, then lets others run, then sleeps.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "base/deadline.hpp"

namespace lockstep::comm {

/// Where one thread sleeps until others ring. Lives in memory that processes share; all zeros is a fresh one, so that
/// pages of a new segment need no constructor.
///
/// Who changes what a sleeper waits for writes it with std::memory_order_seq_cst and then calls ring(); the sleeper
/// reads it with the same order. Then either the sleeper sees the change or the ringer sees the sleeper.
/// Thread safety: any thread or process rings, one at a time waits.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> rings{0};        ///< Counts; the futex word.
  std::atomic<std::uint32_t> is_sleeping{0};  ///< Set while the owner may be inside the system call.

  /// Wakes the sleeper, if there is one. @cost  One read where nobody sleeps, a system call otherwise.
  void ring() noexcept {
    if (is_sleeping.load(std::memory_order_seq_cst) != 0) wake();
  }

 private:
  void wake() noexcept;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "a lock would live in one process only");

/// How many processors this process may run on; at least 1.
[[nodiscard]] int processors_of_this_process();

/// What to do before sleeping: rounds of looking, each ended by offering the processor to others (sched_yield), which
/// costs little where nobody wants it. Without the offers, a rank that looks for another one would keep it from the
/// very processor it needs, as soon as anything else runs on the machine.
struct WaitPolicy {
  int looks = 1;                     ///< Per round; many look fastest.
  int rounds = 0;                    ///< At most.
  std::chrono::nanoseconds spin{0};  ///< At most, in looks alone: time in which others ran does not count.

  /// Looks often where every rank of the host has a processor of its own; otherwise once per round.
  [[nodiscard]] static WaitPolicy for_ranks(int ranks_on_host);
};

/// One thread's waits at one doorbell. Thread safety: one thread.
class Waiter {
 public:
  /// Sleeps are cut into slices of this length, between which `check` runs.
  static constexpr std::chrono::milliseconds kSlice{50};

  /// @param own    Where this thread sleeps; must outlive this object.
  /// @param check  Throws where waiting is in vain, for example because the job has failed; may be empty. Called at
  ///               least every kSlice.
  Waiter(Doorbell& own, const WaitPolicy& policy, std::function<void()> check)
      : own_(&own), policy_(policy), check_(std::move(check)) {}

  /// Waits until `ready()` is true. It is called often and must only read.
  /// @return  False where `deadline` passed first. @throws  What `check` throws.
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
