#pragma once
/// @file
/// The block's barrier: __syncthreads and its relatives.
#include <cstdint>
#include <optional>
#include <span>

#include "emulator/cuda/lockstep_emulator/synchronization.h"
#include "emulator/engine/thread_run.hpp"

namespace lockstep::emulator {

/// Counts the threads of a block that have come to its barrier, and what they bring. Threads that have ended no longer
/// count (CUDA C++ Programming Guide, "Independent Thread Scheduling": __syncthreads waits for all non-exited threads
/// of the block).
class BlockBarrier {
 public:
  /// Misuse may be described again.
  void begin_launch() noexcept { has_described_divergence_ = has_described_early_end_ = false; }
  /// Nobody has come.
  void begin_block() noexcept;

  /// A thread comes, from the line `at`.
  void arrive(int predicate, SourcePlace at) noexcept {
    if (arrived_ == 0)
      first_arrival_ = at;
    else if (!(first_arrival_ == at))
      compare_with_first(at);
    ++arrived_;
    if (predicate != 0) ++true_count_;
  }
  /// Whether threads wait and no other is missing. @param live  How many have not ended.
  [[nodiscard]] bool is_complete(std::uint32_t live) const noexcept { return arrived_ > 0 && arrived_ == live; }
  /// What is wrong with the barrier that is complete: threads came from different lines, or some had ended. Once per
  /// launch for each of the two causes, since a loop would repeat it without end.
  [[nodiscard]] std::optional<EngineFinding> describe_misuse(std::span<const ThreadState> states,
                                                             std::span<const ThreadRun> runs);
  /// All pass.
  void pass() noexcept;
  /// What it returns to those who have passed it last.
  [[nodiscard]] int result(BarrierResult wanted) const noexcept;

 private:
  void compare_with_first(SourcePlace at) noexcept;

  std::uint32_t arrived_ = 0;
  std::uint32_t true_count_ = 0;
  std::uint32_t passed_ = 0;             ///< How many passed last.
  std::uint32_t passed_true_count_ = 0;  ///< Of them.
  SourcePlace first_arrival_;
  bool is_divergent_ = false;  ///< Somebody has come from another line than `first_arrival_`.
  bool has_described_divergence_ = false;
  bool has_described_early_end_ = false;
};

}  // namespace lockstep::emulator
