#pragma once
/// @file
/// Runs the blocks of a kernel one after another.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emulator/cuda/lockstep_emulator/synchronization.h"
#include "emulator/engine/block_barrier.hpp"
#include "emulator/engine/block_threads.hpp"
#include "emulator/engine/execution.hpp"
#include "emulator/engine/kept_variables.hpp"
#include "emulator/engine/observer.hpp"
#include "emulator/engine/running_kernel.hpp"
#include "emulator/engine/thread_run.hpp"
#include "emulator/engine/warp_meeting.hpp"
#include "emulator/engine/warp_meetings.hpp"

namespace lockstep::emulator {

/// A block whose threads all wait for the grid, set aside for others to run.
struct SuspendedBlock {
  uint3 block_idx{};
  std::uint64_t linear = 0;
  std::vector<SuspendedThread> threads;
  std::vector<std::byte> dynamic_shared;
  std::vector<std::byte> variables;  ///< The contents of the program's static shared memory, one after another.
};

/// The running block: combines its threads, its barrier and its warp meetings. There is one per process; only the
/// thread that holds the execution lock uses it.
class BlockRunner {
 public:
  BlockRunner();
  static BlockRunner& instance();

  /// Prepares for a launch. `call` must live until end_launch().
  void begin_launch(const KernelCall& call, Observer* observer, std::uint64_t seed);
  /// Runs one block to completion. False if the kernel ended with an error, which is in its result.
  bool run_block(uint3 block_idx, std::uint64_t linear);
  /// As run_block(), until the block has ended or all its threads wait for the grid: then it can be resumed.
  std::optional<SuspendedBlock> begin_phase(uint3 block_idx, std::uint64_t linear);
  std::optional<SuspendedBlock> resume_phase(const SuspendedBlock& block);
  /// Static shared memory, which suspended blocks keep.
  void set_shared_variables(std::vector<std::span<std::byte>> variables) { variables_.set(std::move(variables)); }
  /// Discards everything about the launch except its result.
  void end_launch() { kernel_.end(); }
  /// The kernel of the current launch, or of the last one.
  [[nodiscard]] RunningKernel& kernel() noexcept { return kernel_; }

  // Called by the current thread.

  /// __syncthreads and its relatives.
  int sync_block(BarrierResult wanted, int predicate, SourcePlace at);
  /// Waits for all threads of the grid.
  void sync_grid(SourcePlace at);
  /// Joins the lanes of `mask` in a warp operation and waits for them.
  void meet(const WarpOperation& operation, std::uint32_t mask, std::size_t bytes, LaneCall& call, SourcePlace at);
  /// The lanes that reach `at` while nothing else can run.
  std::uint32_t active_mask(SourcePlace at);
  /// Counts a step of a possible spin loop; lets other threads run now and then.
  void note_possible_spin();
  /// The current thread's run state, with its cp.async operations.
  [[nodiscard]] ThreadRun& current_run() noexcept { return threads_.current_run(); }
  /// Ends the kernel with a failure and abandons the thread. Reports the finding to the observer.
  [[noreturn]] void end_kernel(EngineFinding finding);
  [[noreturn]] void end_kernel(std::string message, cudaError_t error = cudaErrorLaunchFailure);

  /// True if the address is in the guard page below a thread's stack. Safe in a signal handler.
  [[nodiscard]] bool is_below_stack(const void* address) const noexcept { return threads_.is_below_stack(address); }

 private:
  void begin_block(uint3 block_idx, std::uint64_t linear);
  void run_ready_threads();
  std::optional<SuspendedBlock> end_phase();
  void end_block();
  void run_threads();
  void run_thread();
  void end_thread();
  void release_barrier();
  void release_lanes(std::uint32_t warp, std::uint32_t lanes);
  bool answer_active_masks();

  RunningKernel kernel_;
  std::uint64_t launch_count_ = 0;
  BlockState block_;
  BlockThreads threads_;
  BlockBarrier barrier_;
  WarpMeetings meetings_;
  KeptVariables variables_;
  bool is_resumed_ = false;                   ///< None of its threads has run since.
  std::uint64_t steps_without_progress_ = 0;  ///< Steps of threads that may only be waiting for others.
};

}  // namespace lockstep::emulator
