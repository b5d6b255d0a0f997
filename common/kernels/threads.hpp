#pragma once
/// @file
/// How far the CPU's kernels spread their work.

namespace lockstep::kernels {

/// How many threads a kernel called from this thread may use: OpenMP's (OMP_NUM_THREADS, else the processors that the
/// process may run on); 1 in a build without OpenMP.
[[nodiscard]] int thread_count() noexcept;

}  // namespace lockstep::kernels
