#pragma once
/// @file
/// What subject.cpp runs a learner's kernels with. On the emulator every access is checked and may be counted; on a GPU
/// only the results tell what a kernel does.
#include <cuda_runtime.h>

#include <functional>

#include "exercise/kernel_findings.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {

/// Runs what a learner's function enqueues, and waits for the device. Findings of the checker come first: a kernel that
/// has one may well compute the right numbers.
/// @param enqueue  Calls the learner's function with the stream that it gets.
/// @throws KernelFault  The checker has found something (only on the emulator).
/// @throws Error        A launch or a kernel has failed.
void run_kernels(const std::function<void(cudaStream_t)>& enqueue);

/// As run_kernels(). Also adds "counts" to the answer, which judges read with counts_in(), and a remark for each line
/// of source that accesses memory. On a GPU, which counts nothing, the answer stays as it is.
/// @param answer  Of the subject. @param enqueue  As above. @throws KernelFault, Error  As above.
void run_and_count_kernels(Answer& answer, const std::function<void(cudaStream_t)>& enqueue);

}  // namespace lockstep::exercise
