#pragma once
/// @file
/// Runs the threads of one block in turns: each until it must wait or has ended, then the next one that can run.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/cuda/lockstep_emulator/synchronization.h"
#include "emulator/engine/execution.hpp"
#include "emulator/engine/observer.hpp"
#include "emulator/engine/runnable_set.hpp"
#include "emulator/engine/stack_pool.hpp"
#include "emulator/engine/thread_run.hpp"
#include "emulator/engine/warp_meeting.hpp"

namespace lockstep::emulator {

/// The running block. There is one per process; only the thread that holds the execution lock uses it.
class BlockRunner {
 public:
  BlockRunner();
  /// The process's.
  static BlockRunner& instance();

  /// Prepares for the blocks of a launch. `call` must live until end_launch().
  void begin_launch(const KernelCall& call, Observer* observer, std::uint64_t seed);
  /// Runs one block to its end. False if the kernel is over with an error: result() tells.
  bool run_block(uint3 block_idx, std::uint64_t linear);
  /// Leaves nothing of the launch but its result.
  void end_launch();
  /// How the launch stands or ended.
  [[nodiscard]] const KernelResult& result() const noexcept { return result_; }

  /// __syncthreads and its relatives.
  int sync_block(BarrierResult wanted, int predicate, SourcePlace at);
  /// Brings `call` to the lanes of `mask` and waits for theirs.
  void meet(const WarpOperation& operation, std::uint32_t mask, std::size_t bytes, LaneCall& call, SourcePlace at);
  /// The lanes that come to `at` while nothing else can run.
  std::uint32_t active_mask(SourcePlace at);
  /// Lets the others run first.
  void yield();
  /// Counts a step of what may be a loop that waits for another thread; lets others run now and then.
  void note_possible_spin();
  /// Tells the observer. Ends the kernel if the finding says so: then this does not return on a thread's fiber.
  void report(const EngineFinding& finding);
  /// Ends the kernel at the next switch.
  void fail(std::string message, cudaError_t error = cudaErrorLaunchFailure);
  /// Gives up the current thread. Only after fail().
  [[noreturn]] void abandon();

  /// The thread whose turn it is.
  [[nodiscard]] ThreadRun& current_run() noexcept { return runs_[current_]; }
  /// Its public side.
  [[nodiscard]] ThreadState& current_state() noexcept { return threads_[current_]; }
  /// Null in plain mode.
  [[nodiscard]] Observer* observer() const noexcept { return observer_; }
  /// All stacks.
  [[nodiscard]] const FiberPool& pool() const noexcept { return pool_; }

 private:
  static void fiber_main();
  void begin_block(uint3 block_idx, std::uint64_t linear);
  void shuffle_order();
  void clear_shared();
  void end_block();

  // Turns.
  void resume_first();
  [[nodiscard]] std::uint32_t choose() noexcept;
  void enter(std::uint32_t thread, Fiber* own_fiber);
  void wait(WaitKind kind);
  void run_thread();
  void retire();
  void end_thread();

  // The block's barrier.
  [[nodiscard]] bool is_barrier_complete() const noexcept { return arrived_ > 0 && arrived_ == live_; }
  void release_barrier();
  void report_divergent_barrier();

  // Meetings of a warp's lanes.
  WarpGroup& find_group(Warp& warp, const WarpOperation& operation, std::uint32_t mask, std::size_t bytes);
  void finish_group(std::uint32_t warp, WarpGroup& group);
  void finish_groups_without(std::uint32_t warp, std::uint32_t lane);
  bool settle_active_masks();
  void report_undefined_lane(std::uint32_t warp, std::uint32_t lane);

  void report_stuck();
  [[nodiscard]] ThreadPlace place_of(std::uint32_t thread) const;

  const KernelCall* call_ = nullptr;
  Observer* observer_ = nullptr;
  KernelResult result_;
  bool must_stop_ = false;
  std::uint64_t launch_count_ = 0;
  std::uint64_t seed_ = 0;

  FiberPool pool_;
  FiberContext main_;
  BlockState block_;
  std::vector<ThreadState> threads_;
  std::vector<ThreadRun> runs_;
  std::vector<Warp> warps_;
  std::vector<std::uint32_t> order_;  ///< Whose turn comes when.
  RunnableSet runnable_;              ///< By place in `order_`.
  std::uint32_t current_ = 0;
  std::uint32_t next_place_ = 0;
  std::uint32_t thread_count_ = 0;
  std::uint32_t live_ = 0;
  std::uint64_t steps_without_progress_ = 0;

  std::uint32_t arrived_ = 0;  ///< At the barrier.
  std::uint32_t true_count_ = 0;
  std::uint32_t passed_true_count_ = 0;  ///< Of the barrier that was passed last.
  std::uint32_t passed_live_ = 0;
  SourcePlace first_arrival_;
  bool is_divergent_ = false;
  bool has_reported_divergence_ = false;
  bool has_reported_early_end_ = false;
};

}  // namespace lockstep::emulator
