#pragma once
/// @file
/// What subject.cpp runs a learner's kernels with. On the emulator every access is checked and may be counted; on a GPU
/// only the results tell what a kernel does.
#include <cuda_runtime.h>

#include <functional>

#include "exercise/kernel_findings.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {

/// What the caller of a learner's function decides about its launches. Only the emulator can tell; 0: anything.
struct LaunchShape {
  unsigned fewest_blocks = 0;  ///< At least one launch has as many.
  unsigned most_blocks = 0;    ///< No launch has more.
  unsigned threads = 0;        ///< Per block, of at least one launch.
};

/// Runs what a learner's function enqueues, and waits for the device. Findings of the checker come first: a kernel that
/// has one may well compute the right numbers.
/// @param enqueue  Calls the learner's function with the stream that it gets.
/// @param shape    What every launch is held to, besides the stream.
/// @throws KernelFault  The checker has found something, or a launch is not as the caller asked (only on the emulator).
/// @throws Error        A launch or a kernel has failed.
void run_kernels(const std::function<void(cudaStream_t)>& enqueue, const LaunchShape& shape = {});

/// As run_kernels(). Also adds counts to the answer, which judges read with counts_in(), and a remark for each line
/// of source that accesses memory. On a GPU, which counts nothing, the answer stays as it is.
/// @param answer  Of the subject. @param enqueue, shape  As above. @throws KernelFault, Error  As above.
void run_and_count_kernels(Answer& answer, const std::function<void(cudaStream_t)>& enqueue,
                           const LaunchShape& shape = {});

}  // namespace lockstep::exercise
