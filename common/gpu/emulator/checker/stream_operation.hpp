#pragma once
/// @file
/// Operations of streams as the runtime describes them to the checker.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "emulator/checker/clock.hpp"
#include "emulator/cuda/driver_types.h"
#include "emulator/cuda/lockstep_emulator/source_place.h"

namespace lockstep::emulator::checker {

/// One of the operations that streams run: a launch, a copy, a set, a product, a free.
struct StreamOperation {
  int device = 0;
  StreamId stream = 0;
  std::uint64_t sequence = 0;  ///< In its stream, from 1.
  std::uint64_t issue = 0;     ///< In the process.
  const char* name = "";       ///< Of the call, or of the kernel.
  SourcePlace place;           ///< Of the call.
  SourcePlace empty_wait;  ///< The last cudaStreamWaitEvent of its stream, if that waited for an event never recorded.
};

/// Contiguous bytes that an operation uses.
struct StreamAccess {
  StreamOperation operation;
  const std::byte* begin = nullptr;  ///< The program's address.
  std::size_t bytes = 0;
  bool is_write = false;
};

/// An operation that is about to run.
struct RunningOperation {
  StreamOperation operation;
  Clock before;  ///< All that it follows.
  /// The known accesses of other operations that it neither follows nor precedes, run or not. Called when a launch has
  /// ended, with the checker's lock held.
  std::function<std::vector<StreamAccess>()> unordered_accesses;
};

/// Runs an operation on this thread: compares its known accesses with those of launches, then calls `run`; a launch in
/// it is compared with all that it neither follows nor precedes. @return  The result of `run`.
cudaError_t run_operation(const RunningOperation& operation, const std::vector<StreamAccess>& accesses,
                          const std::function<cudaError_t()>& run);

}  // namespace lockstep::emulator::checker
