#pragma once
/// @file
/// Matrix products of cuBLASLt: their keys, and the algorithms chosen for them.
#include <cublasLt.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>

#include "base/dtype.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

/// Everything that cuBLASLt's choice of an algorithm depends on. Its matrices are column-major, so ours are their
/// transposes: out^T [N, M] = op(b)^T op(a)^T, with b as its A and a as its B.
struct MatmulKey {
  std::int64_t batch;                 // products in one call
  std::int64_t rows, columns, inner;  // M, N, K of ours
  bool is_a_transposed, is_b_transposed, has_bias, is_added;
  DType in, out;
  std::uint32_t alignment;  // in bytes, of all pointers; at most 256

  auto operator<=>(const MatmulKey&) const = default;
};

/// One device's cuBLASLt handle and the algorithms chosen so far. Thread safety: run() may be called by any thread.
class MatmulPlans {
 public:
  /// The plans of a device. Never destroyed: the library may be unloaded before our static objects.
  [[nodiscard]] static MatmulPlans& of_device(int device);

  /// @throws Error  cuBLASLt cannot start.
  MatmulPlans();
  MatmulPlans(const MatmulPlans&) = delete;
  MatmulPlans& operator=(const MatmulPlans&) = delete;

  [[nodiscard]] cublasLtHandle_t handle() const noexcept { return handle_; }

  /// The first of the library's candidates that it reports as usable; cached.
  /// @throws Error  It has none; names the product.
  [[nodiscard]] cublasLtMatmulHeuristicResult_t choice(const MatmulKey& key, cublasLtMatmulDesc_t operation,
                                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                       cublasLtMatrixLayout_t out);

 private:
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<MatmulKey, cublasLtMatmulHeuristicResult_t> choices_;
};

/// @throws Error  `status` is an error of `doing`.
void cublas_check(cublasStatus_t status, std::string_view doing);

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
