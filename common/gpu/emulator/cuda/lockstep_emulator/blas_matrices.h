#pragma once
/// @file
/// cuBLAS's copies between host and device, its functions on a matrix and vectors (level 2) for float32 and float64,
/// and the product of float64. Matrices are column-major.
#include "../cublas_api.h"

struct cublasContext;
using cublasHandle_t = cublasContext*;

extern "C" {

/// Copies n elements from the host to the device; the increments are positive.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSetVector(int n, int element_bytes, const void* x, int incx, void* device_y,
                                                     int incy);
/// Copies n elements from the device to the host.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasGetVector(int n, int element_bytes, const void* device_x, int incx, void* y,
                                                     int incy);
/// Copies a matrix from the host to the device.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSetMatrix(int rows, int columns, int element_bytes, const void* a, int lda,
                                                     void* device_b, int ldb);
/// Copies a matrix from the device to the host.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasGetMatrix(int rows, int columns, int element_bytes, const void* device_a,
                                                     int lda, void* b, int ldb);

/// y = alpha op(A) x + beta y, for A [m, n].
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSgemv(cublasHandle_t handle, cublasOperation_t operation, int m, int n,
                                                 const float* alpha, const float* a, int lda, const float* x, int incx,
                                                 const float* beta, float* y, int incy);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDgemv(cublasHandle_t handle, cublasOperation_t operation, int m, int n,
                                                 const double* alpha, const double* a, int lda, const double* x,
                                                 int incx, const double* beta, double* y, int incy);
/// A [m, n] += alpha x y^T.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSger(cublasHandle_t handle, int m, int n, const float* alpha, const float* x,
                                                int incx, const float* y, int incy, float* a, int lda);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDger(cublasHandle_t handle, int m, int n, const double* alpha,
                                                const double* x, int incx, const double* y, int incy, double* a,
                                                int lda);
/// C [m, n] = alpha op(A) [m, k] op(B) [k, n] + beta C, float64.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t operation_a,
                                                 cublasOperation_t operation_b, int m, int n, int k,
                                                 const double* alpha, const double* a, int lda, const double* b,
                                                 int ldb, const double* beta, double* c, int ldc);

}  // extern "C"
