#pragma once
/// @file
/// Matrix products on plain pointers: the one place that knows oneDNN and Eigen. Private to the module.
#include <cstdint>

#include "kernels/types.hpp"

namespace lockstep::kernels {

/// Row-major operands of out[M, N] = op(a) op(b) (+ bias) (+ out), without padding between rows.
template <typename T>
struct Gemm {
  T* out;
  const T* a;
  Transpose a_transpose;
  const T* b;
  Transpose b_transpose;
  std::int64_t rows;     ///< M.
  std::int64_t columns;  ///< N.
  std::int64_t inner;    ///< K.
  Write write = Write::kOverwrite;
  const T* bias = nullptr;  ///< [N], or none; only with Write::kOverwrite.
};

void run(const Gemm<float>& gemm);
void run(const Gemm<double>& gemm);

}  // namespace lockstep::kernels
