#pragma once
/// @file
/// Times work on the GPU by events, which the GPU itself stamps.
#include <cuda_runtime.h>

#include <functional>

namespace lockstep::ladders {

/// How a time is taken.
struct Timing {
  int warm_ups = 3;      ///< Runs before, not timed: clocks rise, code is loaded.
  int repetitions = 21;  ///< The median of so many counts.
};

/// The median time of `enqueue`, which puts work into the stream it is given.
/// @throws Error  Work failed.
[[nodiscard]] double median_seconds(const std::function<void(cudaStream_t)>& enqueue, Timing timing = {});

}  // namespace lockstep::ladders
