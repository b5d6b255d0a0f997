#pragma once
/// @file
/// Runs the blocks of a kernel one after another.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "emulator/cuda/lockstep_emulator/synchronization.h"
#include "emulator/engine/block_barrier.hpp"
#include "emulator/engine/block_threads.hpp"
#include "emulator/engine/execution.hpp"
#include "emulator/engine/grid_barrier.hpp"
#include "emulator/engine/observer.hpp"
#include "emulator/engine/phase_barriers.hpp"
#include "emulator/engine/running_kernel.hpp"
#include "emulator/engine/thread_run.hpp"
#include "emulator/engine/warp_meeting.hpp"
#include "emulator/engine/warp_meetings.hpp"
#include "emulator/engine/warpgroup_products.hpp"

namespace lockstep::emulator {

/// The parts that serve some kernels only.
struct BlockUnits {
  GridBarrier grid_barrier;      ///< grid.sync().
  PhaseBarriers phase_barriers;  ///< mbarrier, and the copies that it counts.
  WarpgroupProducts products;    ///< wgmma.
};

/// The running block: combines its threads, its barrier and its warp meetings. There is one per process; only the
/// thread that holds the execution lock uses it.
class BlockRunner {
 public:
  BlockRunner();
  static BlockRunner& instance();

  /// Prepares for a launch. `call` must live until kernel().end().
  void begin_launch(const KernelCall& call, Observer* observer, std::uint64_t seed);
  /// Runs one block until it has ended, or until all its threads wait for the grid. The kernel is over if it ended with
  /// an error, which is in its result.
  /// @param suspended  What an earlier call for this block returned, to go on from there. @return  Where to go on.
  std::optional<SuspendedBlock> run_block(uint3 block_idx, std::uint64_t linear,
                                          const SuspendedBlock* suspended = nullptr);
  /// The kernel of the current launch, or of the last one.
  [[nodiscard]] RunningKernel& kernel() noexcept { return kernel_; }
  [[nodiscard]] BlockThreads& threads() noexcept { return threads_; }
  [[nodiscard]] BlockUnits& units() noexcept { return units_; }

  // Called by the current thread.

  /// __syncthreads and its relatives.
  int sync_block(BarrierResult wanted, int predicate, SourcePlace at);
  /// Joins the lanes of `mask` in a warp operation and waits for them.
  void meet(const WarpOperation& operation, std::uint32_t mask, std::size_t bytes, LaneCall& call, SourcePlace at);
  /// The lanes that reach `at` while nothing else can run.
  std::uint32_t active_mask(SourcePlace at);
  /// Counts a step of a possible spin loop; lets other threads run now and then.
  void note_possible_spin();
  /// Ends the kernel with a failure and abandons the thread. Reports the finding to the observer.
  [[noreturn]] void end_kernel(EngineFinding finding);

 private:
  void begin_block(uint3 block_idx, std::uint64_t linear);
  void run_ready_threads();
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
  BlockUnits units_;
  std::uint64_t steps_without_progress_ = 0;  ///< Steps of threads that may only be waiting for others.
};

}  // namespace lockstep::emulator
