#pragma once
/// @file
/// Runs the threads of a block in turns: each until it must wait or has ended, then the next one that can run.
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/engine/ready_threads.hpp"
#include "emulator/engine/running_kernel.hpp"
#include "emulator/engine/stack_pool.hpp"
#include "emulator/engine/thread_run.hpp"

namespace lockstep::emulator {

/// The threads of the running block as fibers of the thread of the processor that calls resume(). What a thread waits
/// for is not known here: wait() takes its turn away, and it has another one after make_ready().
///
/// Threads are named by their rank in the block.
class BlockThreads {
 public:
  /// @param kernel  Once it is over, nobody gets another turn; must live as long as this.
  /// @param entry   Where a fiber begins. It runs the current thread, then calls end_current() and pass_on(), again and
  ///                again, and never returns.
  BlockThreads(const RunningKernel& kernel, void (*entry)()) : kernel_(kernel), pool_(entry) {}

  /// Prepares threads for the blocks of a launch.
  void begin_launch(const dim3& block_dim, std::uint64_t seed);
  /// All threads are ready to begin. @param block  Rank in the grid.
  void begin_block(std::uint64_t block);
  /// Gives up threads that have not ended, where they are.
  void end_block();

  /// By rank.
  [[nodiscard]] std::span<ThreadState> states() noexcept { return states_; }
  /// By rank.
  [[nodiscard]] std::span<const ThreadRun> runs() const noexcept { return std::span(runs_).first(states_.size()); }
  /// The thread whose turn it is.
  [[nodiscard]] ThreadRun& current_run() noexcept { return runs_[current_]; }
  /// Its public side.
  [[nodiscard]] ThreadState& current_state() noexcept { return states_[current_]; }
  /// How many threads have not ended.
  [[nodiscard]] std::uint32_t live() const noexcept { return live_; }
  /// Whether any of them can run.
  [[nodiscard]] bool is_any_ready() const noexcept { return !ready_.is_empty(); }

  /// Off fibers: gives the next thread its turn. Returns when none can run, or when the kernel is over.
  /// @pre is_any_ready()
  void resume();
  /// The thread can run (again).
  void make_ready(std::uint32_t thread) noexcept { ready_.insert(thread); }
  /// All threads can that have not ended.
  void make_live_ready() noexcept;
  /// Takes the current thread's turn away. Returns when it is ready and its turn has come again.
  void wait(WaitKind kind);
  /// Lets the others run first.
  void yield();
  /// The current thread has ended: it counts no more.
  void end_current() noexcept {
    current_run().wait = WaitKind::kEnded;
    ready_.erase(current_);
    --live_;
  }
  /// Passes the turn of a thread that has ended on. Returns on the same fiber when that has another thread to begin:
  /// threads that never wait all use one stack, without a switch.
  void pass_on();
  /// Leaves the current thread where it is, for good. Only after the kernel is over.
  [[noreturn]] void abandon();

  /// Whether the address is in the guard page below a thread's stack. Safe in a signal handler.
  [[nodiscard]] bool is_below_stack(const void* address) const noexcept { return pool_.find_guard(address) != nullptr; }

 private:
  void enter(std::uint32_t thread, Fiber* own_fiber);

  const RunningKernel& kernel_;
  FiberPool pool_;
  FiberContext main_;
  std::vector<ThreadState> states_;
  std::vector<ThreadRun> runs_;  ///< At least as many; more of a larger block before.
  ReadyThreads ready_;
  std::uint32_t current_ = 0;
  std::uint32_t live_ = 0;
};

}  // namespace lockstep::emulator
