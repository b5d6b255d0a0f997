#pragma once
/// @file
/// Matrix products on plain pointers: the only file that uses oneDNN and Eigen. Internal to this module.
#include <cstdint>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/types.hpp"

namespace lockstep::kernels {

/// Row-major operands of out[M, N] = op(a) op(b) (+ bias) (+ out), without padding between rows. bfloat16 operands are
/// multiplied exactly and added in float32.
template <typename In, typename Out = In>
struct Gemm {
  Out* out;
  const In* a;
  Transpose a_transpose;
  const In* b;
  Transpose b_transpose;
  std::int64_t rows;     ///< M.
  std::int64_t columns;  ///< N.
  std::int64_t inner;    ///< K.
  Write write = Write::kOverwrite;
  const Compute<In>* bias = nullptr;  ///< [N], or none; only with Write::kOverwrite.
};

void run(const Gemm<float>& gemm);
void run(const Gemm<double>& gemm);
void run(const Gemm<BFloat16>& gemm);
void run(const Gemm<BFloat16, float>& gemm);

}  // namespace lockstep::kernels
