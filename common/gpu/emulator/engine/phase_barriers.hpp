#pragma once
/// @file
/// Barriers that count arrivals and bytes (mbarrier), and the copies of tiles whose bytes they count.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "emulator/cuda/lockstep_emulator/hopper.h"
#include "emulator/engine/block_threads.hpp"
#include "emulator/engine/running_kernel.hpp"

namespace lockstep::emulator {

/// A copy of a tile that has not landed.
struct PendingTile {
  void* tile = nullptr;
  TileMap map;
  int row = 0;
  int column = 0;
  SourcePlace place;
};

/// The barriers of the running blocks. A copy lands as late as the rules allow: when a thread waits for the phase whose
/// arrivals are complete. So only threads that wait may rely on it, and the first that does performs it.
///
/// All functions but begin_launch(), end_block() and describe_missing() are called by the current thread of a block.
class PhaseBarriers {
 public:
  /// Both must outlive this.
  PhaseBarriers(RunningKernel& kernel, BlockThreads& threads) : kernel_(kernel), threads_(threads) {}

  /// Forgets all barriers.
  void begin_launch() noexcept { barriers_.clear(); }
  /// Forgets those of a block that does not go on. @param block  Rank in the grid.
  void end_block(std::uint64_t block) noexcept {
    barriers_.erase(barriers_.lower_bound({block, nullptr}), barriers_.lower_bound({block + 1, nullptr}));
  }
  void init(void* barrier, unsigned arrivals, SourcePlace at);
  void arrive(void* barrier, unsigned bytes, SourcePlace at);
  void wait(void* barrier, unsigned parity, SourcePlace at);
  /// Copies may use the barriers that this thread has initialised.
  void fence() noexcept;
  /// Starts a copy for the current phase of `barrier`.
  void add(const PendingTile& copy, void* barrier);
  /// The arrivals and bytes that the awaited phases still lack; empty if no thread waits.
  [[nodiscard]] std::string describe_missing() const;

 private:
  struct Barrier {
    unsigned arrivals = 0;  // of a phase
    unsigned missing = 0;   // of the current phase
    long long bytes = 0;    // expected minus landed
    std::uint32_t phases = 0;
    std::uint32_t made_by = 0;  // thread
    bool is_fenced = false;
    SourcePlace place;
    std::vector<PendingTile> copies;
    std::vector<std::uint32_t> waiting;  // threads
  };

  Barrier& find(void* barrier, const char* what, SourcePlace at);
  void land(Barrier& barrier);
  void end_phase_if_complete(Barrier& barrier);
  void wake(Barrier& barrier);
  void order(const void* barrier, BarrierStep step, SourcePlace at);
  [[noreturn]] void end_kernel(EngineFindingKind kind, std::string message, SourcePlace at);

  RunningKernel& kernel_;
  BlockThreads& threads_;
  std::map<std::pair<std::uint64_t, const void*>, Barrier> barriers_;  // by block and address
};

}  // namespace lockstep::emulator
