#include <memory>
#include <utility>

#include "emulator/cuda/cublas_v2.h"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/blas_handle.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/product.hpp"

namespace {

using namespace lockstep::emulator;

Factor factor(cublasHandle_t handle, const void* address) {
  api_require(address != nullptr, cudaErrorInvalidValue, "alpha or beta is null");
  const auto* value = static_cast<const float*>(address);
  return handle->pointer_mode == CUBLAS_POINTER_MODE_HOST ? Factor{*value, nullptr} : Factor{0.0F, value};
}

Matrix matrix(const void* data, cudaDataType type, int rows, int columns, int leading, long long stride) {
  return {type, static_cast<std::byte*>(const_cast<void*>(data)), rows, columns, leading, false, stride};
}

// The stored matrix of an operand whose shape, after the operation, is `shape`.
Matrix operand(const void* data, cudaDataType type, cublasOperation_t operation, std::pair<int, int> shape, int leading,
               long long stride) {
  if (operation != CUBLAS_OP_N) std::swap(shape.first, shape.second);
  return matrix(data, type, shape.first, shape.second, leading, stride);
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  return blas_call("cublasCreate", [&] {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *handle = std::make_unique<cublasContext>().release();
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const std::unique_ptr<cublasContext> ended(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  return with_handle("cublasSetStream", handle, [&] {
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  return with_handle("cublasGetStream", handle, [&] {
    if (stream == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  return with_handle("cublasSetPointerMode", handle, [&] {
    handle->pointer_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, size_t) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) { return name_of(status); }
const char* cublasGetStatusString(cublasStatus_t status) { return name_of(status); }

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t operation_a,
                                          cublasOperation_t operation_b, int m, int n, int k, const void* alpha,
                                          const void* a, cudaDataType a_type, int lda, long long stride_a,
                                          const void* b, cudaDataType b_type, int ldb, long long stride_b,
                                          const void* beta, void* c, cudaDataType c_type, int ldc, long long stride_c,
                                          int batch_count, cublasComputeType_t compute_type, cublasGemmAlgo_t) {
  return with_handle("cublasGemmStridedBatchedEx", handle, [&] {
    if (!is_float32(compute_type)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (m == 0 || n == 0 || batch_count == 0) return CUBLAS_STATUS_SUCCESS;
    Product product;
    product.name = "cublasGemm";
    product.a = operand(a, a_type, operation_a, {m, k}, lda, stride_a);
    product.b = operand(b, b_type, operation_b, {k, n}, ldb, stride_b);
    product.c = product.d = matrix(c, c_type, m, n, ldc, stride_c);
    product.is_a_transposed = operation_a != CUBLAS_OP_N;
    product.is_b_transposed = operation_b != CUBLAS_OP_N;
    product.alpha = factor(handle, alpha);
    product.beta = factor(handle, beta);
    product.batch_count = batch_count;
    product.may_lack_terms = true;
    const cublasStatus_t status = check(product);
    if (status == CUBLAS_STATUS_SUCCESS) enqueue(product, Handles::instance().queue(handle->stream));
    return status;
  });
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t operation_a, cublasOperation_t operation_b, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, operation_a, operation_b, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb,
                                    0, beta, c, c_type, ldc, 0, 1, compute_type, algorithm);
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t operation_a, cublasOperation_t operation_b, int m,
                           int n, int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
                           const float* beta, float* c, int ldc) {
  return cublasGemmEx(handle, operation_a, operation_b, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F, ldb, beta, c,
                      CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t operation_a,
                                         cublasOperation_t operation_b, int m, int n, int k, const float* alpha,
                                         const float* a, int lda, long long stride_a, const float* b, int ldb,
                                         long long stride_b, const float* beta, float* c, int ldc, long long stride_c,
                                         int batch_count) {
  return cublasGemmStridedBatchedEx(handle, operation_a, operation_b, m, n, k, alpha, a, CUDA_R_32F, lda, stride_a, b,
                                    CUDA_R_32F, ldb, stride_b, beta, c, CUDA_R_32F, ldc, stride_c, batch_count,
                                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
