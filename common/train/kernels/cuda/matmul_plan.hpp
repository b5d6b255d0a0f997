#pragma once
/// @file
/// Matrix products of cuBLASLt: their keys, and the algorithms chosen for them.
#include <cublasLt.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

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

/// An algorithm for a product. It has a name of its own, because nvcc 13 cannot put NVIDIA's unnamed struct into a
/// vector.
struct MatmulAlgorithm : cublasLtMatmulHeuristicResult_t {};

/// A product as cuBLASLt knows it, without the addresses of its matrices. Owns nothing.
struct MatmulCall {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t left, right, out;  // of b, a and the result

  /// Enqueues out = op(a) op(b), or adds it to `out`.
  [[nodiscard]] cublasStatus_t enqueue(cublasLtHandle_t handle, const MatmulAlgorithm& algorithm, const MatmulKey& key,
                                       void* result, const void* a, const void* b, void* workspace,
                                       cudaStream_t stream) const;
};

/// One device's cuBLASLt handle and the algorithms chosen so far. Thread safety: any.
class MatmulPlans {
 public:
  /// The plans of a device. Never destroyed: the library may be unloaded before our static objects.
  [[nodiscard]] static MatmulPlans& of_device(int device);

  /// @throws Error  cuBLASLt cannot start.
  MatmulPlans();
  MatmulPlans(const MatmulPlans&) = delete;
  MatmulPlans& operator=(const MatmulPlans&) = delete;

  [[nodiscard]] cublasLtHandle_t handle() const noexcept { return handle_; }

  /// The library's candidates that it reports as usable, its suggestion first.
  /// @throws Error  It has none; names the product.
  [[nodiscard]] std::vector<MatmulAlgorithm> candidates(const MatmulKey& key, const MatmulCall& call) const;

  /// The algorithm kept for a product and the chooser of that number; 0: no chooser, so the library's suggestion.
  [[nodiscard]] std::optional<MatmulAlgorithm> find(std::uint64_t chooser, const MatmulKey& key);
  void keep(std::uint64_t chooser, const MatmulKey& key, const MatmulAlgorithm& algorithm);

 private:
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<std::uint64_t, std::map<MatmulKey, MatmulAlgorithm>> choices_;  // by chooser
};

/// @throws Error  `status` is an error of `doing`.
void cublas_check(cublasStatus_t status, std::string_view doing);

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
