#pragma once
/// @file
/// Times work on the GPU with events, which the GPU itself timestamps.
#include <cuda_runtime.h>

#include <functional>

namespace lockstep::ladders {

/// How work is timed.
struct Timing {
  int warm_ups = 3;      ///< Untimed runs, in which clocks rise and code is loaded.
  int repetitions = 21;  ///< The result is their median.
};

/// The median time of `enqueue`, which puts work into the given stream.
/// @throws Error  Work failed.
[[nodiscard]] double median_seconds(const std::function<void(cudaStream_t)>& enqueue, Timing timing = {});

}  // namespace lockstep::ladders
