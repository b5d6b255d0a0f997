#pragma once
/// @file
/// Matrix products of the cuBLAS look-alikes: what they compute and in which stream.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "emulator/cuda/cublas_api.h"
#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// A matrix in device memory, or several a stride apart.
struct Matrix {
  cudaDataType type = CUDA_R_32F;  ///< Of the elements.
  std::byte* data = nullptr;       ///< As the program sees it.
  std::int64_t rows = 0;           ///< As stored.
  std::int64_t columns = 0;        ///< As stored.
  std::int64_t leading = 0;        ///< Elements between columns, or between rows where they are neighbours.
  bool is_row_major = false;       ///< Elements of a row are neighbours.
  std::int64_t stride = 0;         ///< Elements between the matrices of a batch.
};

/// alpha or beta: a value, or where it lies when the product runs.
struct Factor {
  float value = 0.0F;              ///< If `address` is null.
  const float* address = nullptr;  ///< In device memory.
};

/// What follows a product: the bits of cublasLtEpilogue_t.
namespace epilogue {
inline constexpr unsigned kNone = 1;
inline constexpr unsigned kRelu = 2;
inline constexpr unsigned kBias = 4;
inline constexpr unsigned kSumOfRows = 16;
inline constexpr unsigned kGelu = 32;
inline constexpr unsigned kGeluBackward = 64;
inline constexpr unsigned kAuxiliary = 128;
inline constexpr unsigned kSumOfA = 256;
inline constexpr unsigned kSumOfB = 512;
}  // namespace epilogue

/// D = epilogue(alpha op(A) op(B) + beta C), for each matrix of a batch.
struct Product {
  const char* name = "";                ///< The call.
  Matrix a, b, c, d;                    ///< C may be D.
  bool is_a_transposed = false;         ///< op(A) is A's transpose.
  bool is_b_transposed = false;         ///< op(B) is B's transpose.
  Factor alpha, beta;                   ///< C is not read where beta is 0.
  std::int64_t batch_count = 1;         ///< Matrices of each kind.
  unsigned epilogue = epilogue::kNone;  ///< Bits.
  Matrix bias;                          ///< One column: read, or written by the sums. Null data: none.
  Matrix auxiliary;                     ///< What GELU is applied to.
};

/// Whether shapes, types and epilogue fit each other.
cublasStatus_t check(const Product& product);

/// Puts a product that check() accepts into a stream.
void enqueue(const Product& product, const std::shared_ptr<StreamQueue>& queue);

/// Computes it now. @return  cudaErrorIllegalAddress where a matrix does not lie in memory of a device.
cudaError_t compute(const Product& product);

/// Of an element; 0 where the emulator cannot multiply the type.
std::size_t element_bytes(cudaDataType type);

/// Bytes from the first to the last element of one matrix.
std::size_t span_bytes(const Matrix& matrix);

}  // namespace lockstep::emulator
