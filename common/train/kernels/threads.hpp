#pragma once
/// @file
/// The threads and the matrix library that the CPU's kernels use.
#include <string>

namespace lockstep::kernels {

/// The most threads a kernel called from this thread may use: OpenMP's (OMP_NUM_THREADS, else the processors that the
/// process may run on); 1 in a build without OpenMP.
[[nodiscard]] int thread_count() noexcept;

/// The library that computes float32 matrix products, and its version: "oneDNN 2.6.3", or "Eigen 3.4.0" in a build
/// without oneDNN (several times slower on most processors).
[[nodiscard]] std::string matrix_library();

}  // namespace lockstep::kernels
