#pragma once
/// @file
/// Combines accesses of lanes into requests of warps.
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

/// Accesses of a warp's lanes that form one request.
struct Request {
  std::uint32_t mask = 0;                      ///< Lanes that took part.
  std::uint32_t bytes = 0;                     ///< Of each lane's access.
  std::array<std::uintptr_t, 32> addresses{};  ///< By lane.
};

/// The transactions of a request, and the minimum possible.
struct RequestCost {
  std::uint64_t transactions = 0;  ///< Sectors or passes.
  std::uint64_t ideal = 0;         ///< Minimum for the same bytes.
};
/// In 32-byte sectors.
RequestCost sectors_of(const Request& request);
/// In passes over the 32 banks of shared memory.
RequestCost passes_of(const Request& request);

/// Totals of one instruction in one kernel.
struct InstructionTotals {
  std::uint64_t requests = 0;  ///< Or barriers passed.
  std::uint64_t lanes = 0;     ///< Accesses.
  std::uint64_t bytes = 0;
  std::uint64_t transactions = 0;  ///< Sectors or passes.
  std::uint64_t ideal = 0;         ///< Minimum.
};

enum class Operation { kLoad, kStore, kAtomic, kBarrier };

/// Counts requests. Thread safety: none; guarded by the checker's lock.
class MetricsCounter {
 public:
  /// Kernel, instruction, operation, true for global memory.
  using Key = std::tuple<std::string, Site, Operation, bool>;

  void block_begin(const std::string& kernel, std::uint32_t thread_count);
  /// Completes requests that some lanes never joined.
  void block_end();
  void count(const ThreadState& thread, const Access& access, const void* address, std::size_t bytes, bool is_global);
  /// A barrier that the whole block passes. Completes requests, too: lanes that have not joined one never will.
  void count_barrier(Site site);

  [[nodiscard]] const std::map<Key, InstructionTotals>& totals() const noexcept { return totals_; }
  void clear() { totals_.clear(); }

 private:
  struct Queue {                           // of one warp
    std::array<std::uint32_t, 32> done{};  // how often each lane has executed the instruction
    std::uint32_t first = 0;               // the number of open.front()
    std::deque<Request> open;              // requests that lack some lanes
  };
  struct Instruction {
    InstructionTotals* totals = nullptr;
    bool is_global = false;
    std::array<Queue, 32> warps;
  };
  Instruction& instruction_of(const Access& access, bool is_global);
  static void fold(Instruction& instruction, const Request& request);
  void fold_open();

  std::string kernel_;
  std::uint32_t thread_count_ = 0;
  std::map<Key, InstructionTotals> totals_;
  std::unordered_map<std::uint64_t, Instruction> instructions_;  // of the running block
};

}  // namespace lockstep::emulator::checker
