#pragma once
/// @file
/// Findings of checked mode: bugs of kernels and of their callers that a GPU would hide.
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/cuda/lockstep_emulator/export.h"
#include "emulator/cuda/vector_types.h"

namespace lockstep::emulator {

enum class FindingKind {
  kRace,                ///< Two unordered accesses, one of them a write.
  kUninitialisedRead,   ///< Of memory that was never written (shared memory: not by this block).
  kOutOfBounds,         ///< Outside every allocation or array.
  kUseAfterFree,        ///< Of device memory after cudaFree.
  kHostPointer,         ///< A kernel used the address of host memory.
  kNullPointer,         ///< A kernel used a null pointer.
  kMisaligned,          ///< An address that is not a multiple of the access's width.
  kMissingWait,         ///< Of memory that an asynchronous copy (cp.async) may still be writing.
  kUnfinishedProduct,   ///< A tile or the sums of a product (wgmma) that nobody has waited for.
  kMissingFence,        ///< A fence.proxy.async or wgmma.fence is missing.
  kMisusedBarrier,      ///< An mbarrier that is not initialised, or gets too many arrivals.
  kDivergentBarrier,    ///< Threads of a block met at different barriers, or some had ended.
  kDeadlock,            ///< No thread of the block can run.
  kWrongMask,           ///< A warp collective whose mask does not fit the lanes that call it.
  kUndefinedLane,       ///< A shuffle reads a lane that does not take part.
  kStackOverflow,       ///< Local variables larger than a thread's stack.
  kException,           ///< C++ code of a kernel threw.
  kHostAccess,          ///< Host code used the address of device memory.
  kUnsynchronizedRead,  ///< Host code used pinned memory that an asynchronous copy was still writing.
  kChangedTooEarly,     ///< Host code changed pinned memory that an asynchronous copy was still reading.
  kUnorderedStreams,    ///< Operations of two streams use the same memory, one writes, and nothing orders them.
  kUnrecordedEvent,     ///< As kUnorderedStreams, though one waited: for an event that had not been recorded.
  kIntegerOverflow,     ///< A signed integer of a kernel overflowed.
  kBadLaunch,           ///< A launch that CUDA refuses.
};

/// A line of source.
struct FindingPlace {
  std::string file;   ///< As passed to the compiler; empty if unknown.
  unsigned line = 0;  ///< 0 if unknown.
};

/// One thread's part in a finding.
struct FindingSide {
  std::string action;  ///< "read", "write", "atomic", "waits in __syncthreads" and so on.
  FindingPlace place;
  bool is_in_kernel = true;  ///< False: host code; thread and block are unused.
  uint3 thread{};            ///< threadIdx.
  uint3 block{};             ///< blockIdx.
};

/// One bug, counted once for all its occurrences.
struct Finding {
  FindingKind kind{};
  std::string kernel;              ///< Empty for host code.
  std::vector<FindingSide> sides;  ///< Earlier access first, the one that was detected last.
  std::string detail;              ///< The memory and the problem; no full stop.
  std::uint64_t count = 1;         ///< Occurrences of this (kind, places).
};

/// All findings of this process since clear_findings(), in the order first seen.
LOCKSTEP_EMULATOR_API std::vector<Finding> findings();
/// For tests.
LOCKSTEP_EMULATOR_API void clear_findings();
/// Counts a finding, and prints it the first time; for parts of the emulator other than the checker. Thread safety:
/// from any thread.
LOCKSTEP_EMULATOR_API void report_finding(const Finding& finding);

/// Whether findings are printed on standard error when first seen, and summarized at exit. On by default; tests switch
/// it off.
LOCKSTEP_EMULATOR_API void print_findings(bool is_on);

/// "race", "uninitialised read".
LOCKSTEP_EMULATOR_API const char* name_of(FindingKind kind);
/// The usual cause of the finding and the remedy, in one sentence. Depends on the finding's text and actions too.
LOCKSTEP_EMULATOR_API std::string hint_of(const Finding& finding);
/// The printed report, several lines.
LOCKSTEP_EMULATOR_API std::string to_text(const Finding& finding);
/// The summary printed at exit; empty without findings.
LOCKSTEP_EMULATOR_API std::string summary_of(const std::vector<Finding>& findings);

}  // namespace lockstep::emulator
