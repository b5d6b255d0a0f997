#pragma once
/// @file
/// Used by subject.cpp to run a learner's kernels. On the emulator every access is checked and may be counted; on a GPU
/// only the results are visible.
#include <cuda_runtime.h>

#include <functional>

#include "exercise/kernel_findings.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {

/// Launch requirements set by the caller of a learner's function. Checked on the emulator only; 0: anything.
struct LaunchShape {
  unsigned fewest_blocks = 0;  ///< At least one launch has this many.
  unsigned most_blocks = 0;    ///< No launch has more.
  unsigned threads = 0;        ///< Per block, in at least one launch.
  bool may_be_none = false;    ///< Nothing is to be computed, so that no launch is right, too.
};

/// Runs the kernels that a learner's function enqueues, and waits for the device. Findings of the checker take
/// precedence: a kernel with a finding may still compute the right numbers.
/// @param enqueue  Calls the learner's function with the stream that it receives.
/// @param shape  Requirements on every launch, besides the stream.
/// @throws KernelFault  The checker has found something, or a launch violates `shape` (emulator only).
/// @throws Error  A launch or a kernel has failed.
void run_kernels(const std::function<void(cudaStream_t)>& enqueue, const LaunchShape& shape = {});

/// Like run_kernels(). Also adds counts to the answer, which judges read with counts_in(), and a remark for each source
/// line that accesses memory. On a GPU, which does not count, the answer is unchanged.
/// @param answer  The subject's answer. @param enqueue, shape  As above. @throws KernelFault, Error  As above.
void run_and_count_kernels(Answer& answer, const std::function<void(cudaStream_t)>& enqueue,
                           const LaunchShape& shape = {});

}  // namespace lockstep::exercise
