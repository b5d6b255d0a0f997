#pragma once
/// @file
/// Runs the threads of a block in turn: each runs until it has to wait or ends, then the next ready one runs.
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/engine/ready_threads.hpp"
#include "emulator/engine/running_kernel.hpp"
#include "emulator/engine/stack_pool.hpp"
#include "emulator/engine/thread_run.hpp"

namespace lockstep::emulator {

/// A thread whose block is set aside: what run() needs to go on, with the used part of its stack.
struct SuspendedThread {
  ThreadState state;
  ThreadRun run;
  FiberContext context;
  std::vector<std::uint64_t> stack;  ///< Empty if the thread has ended.
};

/// The threads of the running block, as fibers of the operating-system thread that calls resume(). The caller decides
/// what a thread waits for: wait() suspends it, and it runs again after make_ready().
///
/// Threads are identified by their rank in the block.
class BlockThreads {
 public:
  /// @param kernel  Must outlive this object. Once it is over, no thread runs again.
  /// @param entry   Entry function of a fiber. It runs the current thread, then calls end_current() and pass_on(), in a
  ///                loop, and never returns.
  BlockThreads(const RunningKernel& kernel, void (*entry)()) : kernel_(kernel), pool_(entry) {}

  /// Prepares threads for the blocks of a launch.
  void begin_launch(const dim3& block_dim, std::uint64_t seed);
  /// Makes all threads ready to begin. @param block  Rank in the grid.
  void begin_block(std::uint64_t block);
  /// Abandons threads that have not ended.
  void end_block();

  /// Continues a block with what save_threads() returned; threads that have not ended are ready.
  /// @param block  Rank in the grid.
  void restore(std::span<const SuspendedThread> threads, std::uint64_t block);

  /// By rank.
  [[nodiscard]] std::span<ThreadState> states() noexcept { return states_; }
  /// By rank.
  [[nodiscard]] std::span<const ThreadRun> runs() const noexcept { return std::span(runs_).first(states_.size()); }
  /// The current thread.
  [[nodiscard]] ThreadRun& current_run() noexcept { return runs_[current_]; }
  /// Public state of the current thread.
  [[nodiscard]] ThreadState& current_state() noexcept { return states_[current_]; }
  /// Number of threads that have not ended.
  [[nodiscard]] std::uint32_t live() const noexcept { return live_; }
  /// True if a thread can run.
  [[nodiscard]] bool is_any_ready() const noexcept { return !ready_.is_empty(); }

  /// Called outside fibers: runs threads. Returns when none can run, or when the kernel is over.
  /// @pre is_any_ready()
  void resume();
  /// Marks a thread as ready.
  void make_ready(std::uint32_t thread) noexcept { ready_.insert(thread); }
  /// Marks all threads that have not ended as ready.
  void make_live_ready() noexcept;
  /// Suspends the current thread. Returns when it is ready and its turn has come.
  void wait(WaitKind kind);
  /// Lets the other threads run first.
  void yield();
  /// Marks the current thread as ended.
  void end_current() noexcept {
    current_run().wait = WaitKind::kEnded;
    ready_.erase(current_);
    --live_;
  }
  /// Switches from an ended thread to the next one. Returns on the same fiber if the next thread has not begun: threads
  /// that never wait all share one stack, without a switch.
  void pass_on();
  /// Abandons the current thread. Only after the kernel is over.
  [[noreturn]] void abandon();

  /// True if the address is in the guard page below a thread's stack. Safe in a signal handler.
  [[nodiscard]] bool is_below_stack(const void* address) const noexcept { return pool_.find_guard(address) != nullptr; }

 private:
  void enter(std::uint32_t thread, Fiber* own_fiber);

  const RunningKernel& kernel_;
  FiberPool pool_;
  FiberContext main_;
  std::vector<ThreadState> states_;
  std::vector<ThreadRun> runs_;  ///< After a larger block, more than this block's threads.
  ReadyThreads ready_;
  std::uint32_t current_ = 0;
  std::uint32_t live_ = 0;
};

/// Copies of all threads of the block, none of which runs. end_block() then frees their stacks for other blocks.
[[nodiscard]] std::vector<SuspendedThread> save_threads(BlockThreads& threads);

}  // namespace lockstep::emulator
