#pragma once
/// @file
/// Matrix products of the cuBLAS emulation, computed in stream order.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "emulator/cuda/cublas_api.h"
#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// A matrix in device memory, or several that are a stride apart.
struct Matrix {
  cudaDataType type = CUDA_R_32F;
  std::byte* data = nullptr;  ///< The program's address.
  std::int64_t rows = 0;      ///< As stored.
  std::int64_t columns = 0;   ///< As stored.
  std::int64_t leading = 0;   ///< Elements between columns, or between rows if row-major.
  bool is_row_major = false;  ///< The elements of a row are contiguous.
  std::int64_t stride = 0;    ///< Elements between the matrices of a batch.
};

/// alpha or beta: a value, or its address when the product runs.
struct Factor {
  float value = 0.0F;              ///< Used if `address` is null.
  const float* address = nullptr;  ///< In device memory.
};

/// Operations after a product: the bits of cublasLtEpilogue_t.
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
  const char* name = "";         ///< Name of the API call.
  Matrix a, b, c, d;             ///< C may be the same as D.
  bool is_a_transposed = false;  ///< op(A) is A's transpose.
  bool is_b_transposed = false;  ///< op(B) is B's transpose.
  Factor alpha, beta;            ///< C is not read if beta is 0.
  std::int64_t batch_count = 1;  ///< Matrices of each kind.
  bool may_lack_terms = false;   ///< K may be 0, as in cuBLAS: then D = beta C.
  unsigned epilogue = epilogue::kNone;
  Matrix bias;       ///< One column: read, or written by the row sums. Null data: none.
  Matrix auxiliary;  ///< The input of GELU.
};

/// Checks that shapes, types and epilogue are compatible.
cublasStatus_t check(const Product& product);

/// Appends a product that check() accepts to a stream.
void enqueue(const Product& product, const std::shared_ptr<StreamQueue>& queue);

/// Computes it now. @return  cudaErrorIllegalAddress if a matrix is not in device memory.
cudaError_t compute(const Product& product);

/// Of an element; 0 if the emulator cannot multiply the type.
std::size_t element_bytes(cudaDataType type);

/// Whether it has no elements.
[[nodiscard]] constexpr bool is_empty(const Matrix& matrix) { return matrix.rows == 0 || matrix.columns == 0; }

/// Bytes from the first to the last element of one matrix.
std::size_t span_bytes(const Matrix& matrix);

}  // namespace lockstep::emulator
