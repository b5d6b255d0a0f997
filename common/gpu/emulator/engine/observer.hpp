#pragma once
/// @file
/// The interface from the engine to the checker. One observer per process; none in plain mode.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/engine/execution.hpp"

namespace lockstep::emulator {

/// Errors that the engine itself detects.
enum class EngineFindingKind {
  kDeadlock,           ///< No thread of the block can run.
  kDivergentBarrier,   ///< Threads met at __syncthreads on different lines.
  kBarrierAfterExit,   ///< Some threads had ended before a __syncthreads of the others (GPUs since Volta continue).
  kWrongMask,          ///< A warp collective whose mask lacks its caller, names ended lanes, or differs between lanes.
  kUndefinedLane,      ///< A shuffle that reads a lane which does not take part.
  kStackOverflow,      ///< A thread's local variables exceed its stack.
  kException,          ///< C++ code of a kernel threw.
  kIllegalAddress,     ///< A memory fault, a division by zero or a trap.
  kMisalignedAddress,  ///< An atomic, cp.async, ldmatrix, tile copy or wgmma on an address that is not a multiple of
                       ///< its width.
  kMisusedBarrier,     ///< An mbarrier that is not initialised, or gets more arrivals than it expects.
  kMissingFence,       ///< A fence.proxy.async or wgmma.fence is missing.
  kUnfinishedProduct,  ///< A tile overwritten, or sums used, before the wait for a wgmma.
};

/// One thread and its position.
struct ThreadPlace {
  uint3 thread_idx{};
  SourcePlace place;  ///< Where it runs or waits.
  std::string doing;  ///< For example "waits in __syncthreads", "has ended".
};

/// The data for a report of an error.
struct EngineFinding {
  EngineFindingKind kind{};
  std::string message;               ///< One sentence, without places.
  SourcePlace place;                 ///< The most relevant place.
  std::vector<ThreadPlace> threads;  ///< At most eight examples.
  bool ends_kernel = false;          ///< The engine ends the kernel after this finding.
  const void* pc = nullptr;          ///< The instruction, if it is known and the place is not (kIllegalAddress).
};

/// The order that a thread establishes at an mbarrier, between its own accesses and those of others.
enum class BarrierStep {
  kInit,     ///< Writes the mbarrier.
  kPublish,  ///< Its accesses so far come before what follows a later kAcquire.
  kAcquire,  ///< Waits or has waited.
};

/// Implemented by the checker. Calls come from the thread that runs execute(); current_thread() and current_block() are
/// set. All functions may end the kernel with stop_kernel(). Those for threads,
/// mbarriers and asynchronous reads do nothing unless overridden.
class LOCKSTEP_EMULATOR_API Observer {
 public:
  virtual ~Observer() = default;
  virtual void launch_begin(const KernelCall& call, int device) = 0;  ///< Before the first block.
  virtual void launch_end() = 0;                                      ///< After the last block, also after a failure.
  virtual void block_begin(const BlockState& block) = 0;              ///< Before any of its threads runs.
  /// In the first thread that runs of a block that waited for its grid: its shared memory, dynamic and static, holds
  /// what it held then.
  virtual void block_resumed(const BlockState& /*block*/, std::span<const std::span<std::byte>> /*variables*/) {}
  virtual void block_end() = 0;                                ///< After all its threads ended or were abandoned.
  virtual void thread_begin(const ThreadState& /*thread*/) {}  ///< On its fiber, before the kernel's first line.
  virtual void thread_end(const ThreadState& /*thread*/) {}    ///< On its fiber, after the kernel's last line.
  virtual void barrier_passed() = 0;                           ///< All live threads of the block met.
  /// The lanes of `mask` met in a warp collective: their earlier accesses are ordered before all their later ones.
  virtual void warp_met(std::uint32_t warp, std::uint32_t mask) = 0;
  /// __threadfence_block, or __threadfence and __threadfence_system (`is_whole_device`).
  virtual void fence(bool is_whole_device) = 0;
  /// Before an atomic operation of the current thread.
  /// @param expected  Of a compare-and-swap: the bytes without which it only reads. Null for other operations.
  virtual void atomic(const void* address, std::size_t bytes, const void* expected, SourcePlace place) = 0;
  /// Before an access that the engine makes on behalf of the current thread (ldmatrix, __ldcs, __stcs).
  virtual void access(const void* address, std::size_t bytes, bool is_write, SourcePlace place) = 0;
  /// cp.async was issued: until copy_async_landed, `to` and `from` are in use.
  virtual void copy_async_issued(void* to, const void* from, std::size_t bytes, SourcePlace place) = 0;
  /// The issuing thread waited for the copy, which happens right after this call. `bytes` are written; the first
  /// `read_bytes` come from `from`, the rest are zeros.
  virtual void copy_async_landed(void* to, const void* from, std::size_t bytes, std::size_t read_bytes,
                                 SourcePlace place) = 0;
  /// At an mbarrier.
  virtual void phase_barrier(const void* /*barrier*/, BarrierStep /*step*/, SourcePlace /*place*/) {}
  /// A row of a tile copy lands, right after this call, in the thread that waited. Zeros fill what is not read.
  virtual void tile_row_landed(void* /*to*/, std::size_t /*bytes*/, const void* /*from*/, std::size_t /*read_bytes*/,
                               SourcePlace /*place*/) {}
  /// A tensor core reads shared memory, past the thread that started the product.
  virtual void async_read(const void* /*address*/, std::size_t /*bytes*/, SourcePlace /*place*/) {}
  /// fence.proxy.async.
  virtual void fence_async_proxy() {}
  /// The engine detected an error. current_thread() may be null (a deadlock belongs to no thread).
  virtual void finding(const EngineFinding& finding) = 0;
};

/// The observer of future launches, or null. Takes effect at the next execute().
LOCKSTEP_EMULATOR_API Observer* observer() noexcept;
/// @param observer  Must live until replaced; null: plain mode.
/// @return          The previous observer.
LOCKSTEP_EMULATOR_API Observer* set_observer(Observer* observer) noexcept;

}  // namespace lockstep::emulator
