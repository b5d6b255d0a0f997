#pragma once
/// @file
/// Replaces cuBLAS's header of this name: the calls that the kernel ladders and small programs make. Matrices are
/// column-major. Products run on the CPU, in stream order.
#include "cublas_api.h"

struct cublasContext;
using cublasHandle_t = cublasContext*;  ///< Stream, pointer mode and math mode.

extern "C" {

/// For the current device.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasCreate(cublasHandle_t* handle);
/// Returns at once; issued work completes.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDestroy(cublasHandle_t handle);
/// For later calls; initially the default stream.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream);
/// Initially the host's.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
/// No effect.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
/// No effect: no workspace is needed.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t bytes);
/// The enumerator's name.
LOCKSTEP_EMULATOR_API const char* cublasGetStatusName(cublasStatus_t status);
/// The enumerator's name.
LOCKSTEP_EMULATOR_API const char* cublasGetStatusString(cublasStatus_t status);

/// C [m, n] = alpha op(A) [m, k] op(B) [k, n] + beta C, float32.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t operation_a,
                                                 cublasOperation_t operation_b, int m, int n, int k, const float* alpha,
                                                 const float* a, int lda, const float* b, int ldb, const float* beta,
                                                 float* c, int ldc);
/// cublasSgemm for other matrix types; sums, alpha and beta are float32.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t operation_a,
                                                  cublasOperation_t operation_b, int m, int n, int k, const void* alpha,
                                                  const void* a, cudaDataType a_type, int lda, const void* b,
                                                  cudaDataType b_type, int ldb, const void* beta, void* c,
                                                  cudaDataType c_type, int ldc, cublasComputeType_t compute_type,
                                                  cublasGemmAlgo_t algorithm);
/// `batch_count` products of matrices that are a stride (in elements) apart.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t operation_a, cublasOperation_t operation_b, int m, int n, int k,
    const void* alpha, const void* a, cudaDataType a_type, int lda, long long stride_a, const void* b,
    cudaDataType b_type, int ldb, long long stride_b, const void* beta, void* c, cudaDataType c_type, int ldc,
    long long stride_c, int batch_count, cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm);
/// The same for float32.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t operation_a,
                                                               cublasOperation_t operation_b, int m, int n, int k,
                                                               const float* alpha, const float* a, int lda,
                                                               long long stride_a, const float* b, int ldb,
                                                               long long stride_b, const float* beta, float* c, int ldc,
                                                               long long stride_c, int batch_count);

}  // extern "C"

#include "lockstep_emulator/blas_matrices.h"
#include "lockstep_emulator/blas_vectors.h"
