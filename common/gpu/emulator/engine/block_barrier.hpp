#pragma once
/// @file
/// The block's barrier: __syncthreads and its relatives.
#include <cstdint>
#include <optional>
#include <span>

#include "emulator/cuda/lockstep_emulator/synchronization.h"
#include "emulator/engine/thread_run.hpp"

namespace lockstep::emulator {

/// Counts the threads of a block that have arrived at its barrier, and combines their predicates. Threads that have
/// ended do not count (CUDA C++ Programming Guide, "Independent Thread Scheduling": __syncthreads waits for all
/// non-exited threads of the block).
class BlockBarrier {
 public:
  /// Allows misuse to be described again.
  void begin_launch() noexcept { has_described_divergence_ = has_described_early_end_ = false; }
  /// Resets the barrier.
  void begin_block() noexcept;

  /// A thread arrives at the line `at`.
  void arrive(int predicate, SourcePlace at) noexcept {
    if (arrived_ == 0)
      first_arrival_ = at;
    else if (!(first_arrival_ == at))
      compare_with_first(at);
    ++arrived_;
    if (predicate != 0) ++true_count_;
  }
  /// True if threads wait and none is missing. @param live  Number of threads that have not ended.
  [[nodiscard]] bool is_complete(std::uint32_t live) const noexcept { return arrived_ > 0 && arrived_ == live; }
  /// Describes misuse of a complete barrier: threads came from different lines, or some had ended. At most once per
  /// launch for each cause, because a loop would repeat it endlessly.
  [[nodiscard]] std::optional<EngineFinding> describe_misuse(std::span<const ThreadState> states,
                                                             std::span<const ThreadRun> runs);
  /// All threads pass.
  void pass() noexcept;
  /// The return value for the threads that passed last.
  [[nodiscard]] int result(BarrierResult wanted) const noexcept;

 private:
  void compare_with_first(SourcePlace at) noexcept;

  std::uint32_t arrived_ = 0;
  std::uint32_t true_count_ = 0;
  std::uint32_t passed_ = 0;             ///< Number of threads that passed last.
  std::uint32_t passed_true_count_ = 0;  ///< How many of them had a true predicate.
  SourcePlace first_arrival_;
  bool is_divergent_ = false;  ///< A thread came from a line other than `first_arrival_`.
  bool has_described_divergence_ = false;
  bool has_described_early_end_ = false;
};

}  // namespace lockstep::emulator
