#pragma once
/// @file
/// What checked mode found: bugs of kernels and of their callers that a GPU would hide.
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/cuda/lockstep_emulator/export.h"
#include "emulator/cuda/vector_types.h"

namespace lockstep::emulator {

/// Class of a bug.
enum class FindingKind {
  kRace,                ///< Two accesses, one a write, that nothing orders.
  kUninitialisedRead,   ///< Of memory that nobody wrote (shared memory: that this block did not write).
  kOutOfBounds,         ///< Outside of every allocation or array.
  kUseAfterFree,        ///< Of device memory after cudaFree.
  kHostPointer,         ///< A kernel used the address of host memory.
  kNullPointer,         ///< A kernel used a null pointer.
  kMisaligned,          ///< An address that is not a multiple of the access's width.
  kMissingWait,         ///< Of memory that an asynchronous copy (cp.async) may still be writing.
  kDivergentBarrier,    ///< Threads of a block met at different barriers, or some had ended.
  kDeadlock,            ///< No thread of the block can run.
  kWrongMask,           ///< A warp collective whose mask does not fit the lanes that call it.
  kUndefinedLane,       ///< A shuffle reads a lane that takes no part.
  kStackOverflow,       ///< Local variables larger than a thread's stack.
  kException,           ///< C++ code of a kernel threw.
  kHostAccess,          ///< Host code used the address of device memory.
  kUnsynchronizedRead,  ///< Host code read or changed what a device was still working on.
  kBadLaunch,           ///< A launch that CUDA refuses.
};

/// A line of source.
struct FindingPlace {
  std::string file;   ///< As the compiler was told; empty where unknown.
  unsigned line = 0;  ///< 0 where unknown.
};

/// One thread's part in a finding.
struct FindingSide {
  std::string action;        ///< "read", "write", "atomic", "waits in __syncthreads" and the like.
  FindingPlace place;        ///< Where.
  bool is_in_kernel = true;  ///< False: host code; thread and block mean nothing.
  uint3 thread{};            ///< threadIdx.
  uint3 block{};             ///< blockIdx.
};

/// One bug, however often it was seen.
struct Finding {
  FindingKind kind{};              ///< Class.
  std::string kernel;              ///< Its name; empty for host code.
  std::vector<FindingSide> sides;  ///< Earlier access first; the one that was noticed last.
  std::string detail;              ///< Which memory, and what is wrong with it; no full stop.
  std::uint64_t count = 1;         ///< How often this (kind, places) was seen.
};

/// All findings of this process since clear_findings(), in the order they were first seen.
LOCKSTEP_EMULATOR_API std::vector<Finding> findings();
/// Forgets them (tests).
LOCKSTEP_EMULATOR_API void clear_findings();
/// Counts a finding, and prints it the first time: for parts of the emulator that notice something themselves.
/// Thread safety: from any thread.
LOCKSTEP_EMULATOR_API void report_finding(const Finding& finding);

/// Whether findings are printed on standard error when they are first seen, and summed up at exit. On unless switched
/// off (tests).
LOCKSTEP_EMULATOR_API void print_findings(bool is_on);

/// The class in words: "race", "uninitialised read".
LOCKSTEP_EMULATOR_API const char* name_of(FindingKind kind);
/// The usual cause of that class and what to do, one sentence. It looks at the finding's text and actions too.
LOCKSTEP_EMULATOR_API std::string hint_of(const Finding& finding);
/// The report as it is printed, several lines.
LOCKSTEP_EMULATOR_API std::string to_text(const Finding& finding);
/// What is printed at the end of a run; empty without findings.
LOCKSTEP_EMULATOR_API std::string summary_of(const std::vector<Finding>& findings);

}  // namespace lockstep::emulator
