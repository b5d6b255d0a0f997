#pragma once
/// @file
/// What the CPU's kernels run on: how many threads, and which library.
#include <string>

namespace lockstep::kernels {

/// How many threads a kernel called from this thread may use: OpenMP's (OMP_NUM_THREADS, else the processors that the
/// process may run on); 1 in a build without OpenMP.
[[nodiscard]] int thread_count() noexcept;

/// The library that computes float32 matrix products, and its version: "oneDNN 2.6.3", or "Eigen 3.4.0" in a build
/// without oneDNN (several times slower on most processors).
[[nodiscard]] std::string matrix_library();

}  // namespace lockstep::kernels
