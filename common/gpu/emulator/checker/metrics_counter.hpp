#pragma once
/// @file
/// Gathers the accesses of lanes to requests of warps.
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "emulator/checker/access.hpp"
#include "emulator/engine/execution.hpp"

namespace lockstep::emulator::checker {

/// What the lanes of a warp asked for together.
struct Request {
  std::uint32_t mask = 0;                      ///< Lanes that took part.
  std::uint32_t bytes = 0;                     ///< Of each lane's access.
  std::array<std::uintptr_t, 32> addresses{};  ///< By lane.
};

/// How many transactions a request takes, and how few could do.
struct RequestCost {
  std::uint64_t transactions = 0;  ///< Sectors or passes.
  std::uint64_t ideal = 0;         ///< For the same bytes.
};
/// 32-byte sectors that it touches.
RequestCost sectors_of(const Request& request);
/// Passes over the 32 banks of shared memory.
RequestCost passes_of(const Request& request);

/// Totals of one instruction in one kernel.
struct InstructionTotals {
  std::uint64_t requests = 0;      ///< Or barriers passed.
  std::uint64_t lanes = 0;         ///< Accesses.
  std::uint64_t bytes = 0;         ///< Asked for.
  std::uint64_t transactions = 0;  ///< Sectors or passes.
  std::uint64_t ideal = 0;         ///< At best.
};

/// What an instruction does.
enum class Operation { kLoad, kStore, kAtomic, kBarrier };

/// Counts. Thread safety: none; the checker's lock.
class MetricsCounter {
 public:
  /// Kernel, instruction, what it does, whether to global memory.
  using Key = std::tuple<std::string, Site, Operation, bool>;

  /// A block begins.
  void block_begin(const std::string& kernel, std::uint32_t thread_count);
  /// It ended: requests that some lanes never joined are complete.
  void block_end();
  /// An access of a thread.
  void count(const ThreadState& thread, const Access& access, const void* address, std::size_t bytes, bool is_global);
  /// The block passed a barrier.
  void count_barrier(Site site);

  /// So far.
  [[nodiscard]] const std::map<Key, InstructionTotals>& totals() const noexcept { return totals_; }
  /// Forgets all.
  void clear() { totals_.clear(); }

 private:
  struct Queue {                           // of one warp
    std::array<std::uint32_t, 32> done{};  // how often each lane executed the instruction
    std::uint32_t first = 0;               // the number of open.front()
    std::deque<Request> open;              // not all lanes have come yet
  };
  struct Instruction {
    InstructionTotals* totals = nullptr;
    bool is_global = false;
    std::array<Queue, 32> warps;
  };
  Instruction& instruction_of(const Access& access, bool is_global);
  static void fold(Instruction& instruction, const Request& request);

  std::string kernel_;
  std::uint32_t thread_count_ = 0;
  std::map<Key, InstructionTotals> totals_;
  std::unordered_map<std::uint64_t, Instruction> instructions_;  // of the running block
};

}  // namespace lockstep::emulator::checker
