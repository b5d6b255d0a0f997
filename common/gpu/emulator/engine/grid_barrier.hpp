#pragma once
/// @file
/// The barrier of all blocks of a cooperative launch.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/engine/block_threads.hpp"
#include "emulator/engine/execution.hpp"
#include "emulator/engine/kept_variables.hpp"
#include "emulator/engine/running_kernel.hpp"

namespace lockstep::emulator {

/// A block whose threads all wait for the grid, set aside so that others can run.
struct SuspendedBlock {
  uint3 block_idx{};
  std::uint64_t linear = 0;
  std::vector<SuspendedThread> threads;
  std::vector<std::byte> dynamic_shared;
  std::vector<std::byte> variables;  ///< Of KeptVariables.
};

/// Sets blocks aside when all their threads wait for the grid, and brings them back.
class GridBarrier {
 public:
  /// @param block  The running block. All must outlive this.
  GridBarrier(RunningKernel& kernel, BlockThreads& threads, BlockState& block)
      : kernel_(kernel), threads_(threads), block_(block) {}

  /// Static shared memory, which blocks keep.
  void set_variables(std::vector<std::span<std::byte>> variables) { variables_.set(std::move(variables)); }
  /// Called by the current thread: suspends it until its block is brought back. Ends the kernel if its launch is not
  /// cooperative.
  void wait(SourcePlace at);
  /// True if every thread of the block waits here or has ended.
  [[nodiscard]] bool has_whole_block();

  /// Call before a block runs for the first time.
  void block_begins() { variables_.block_begins(); }
  /// The running block, all of whose threads wait here.
  [[nodiscard]] SuspendedBlock set_aside();
  /// Makes a block that was set aside the running one; its threads are ready.
  void bring_back(const SuspendedBlock& block);

 private:
  RunningKernel& kernel_;
  BlockThreads& threads_;
  BlockState& block_;
  KeptVariables variables_;
  bool is_back_ = false;  // none of the block's threads has run since bring_back()
};

}  // namespace lockstep::emulator
