#pragma once
/// @file
/// cuBLAS's functions on vectors (level 1), for float32 and float64. Element i of a vector is at i * increment; with a
/// negative increment, the first element is stored last. They run in stream order, and compute sums in float64.
#include "../cublas_api.h"

struct cublasContext;
using cublasHandle_t = cublasContext*;

extern "C" {

/// y += alpha x.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSaxpy(cublasHandle_t handle, int n, const float* alpha, const float* x,
                                                 int incx, float* y, int incy);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDaxpy(cublasHandle_t handle, int n, const double* alpha, const double* x,
                                                 int incx, double* y, int incy);
/// x *= alpha.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSscal(cublasHandle_t handle, int n, const float* alpha, float* x, int incx);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDscal(cublasHandle_t handle, int n, const double* alpha, double* x,
                                                 int incx);
/// y = x.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasScopy(cublasHandle_t handle, int n, const float* x, int incx, float* y,
                                                 int incy);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDcopy(cublasHandle_t handle, int n, const double* x, int incx, double* y,
                                                 int incy);
/// Exchanges x and y.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSswap(cublasHandle_t handle, int n, float* x, int incx, float* y, int incy);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDswap(cublasHandle_t handle, int n, double* x, int incx, double* y,
                                                 int incy);
/// The sum of x y. Here and below, the host waits for the result, unless the pointer mode is the device's.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSdot(cublasHandle_t handle, int n, const float* x, int incx, const float* y,
                                                int incy, float* result);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDdot(cublasHandle_t handle, int n, const double* x, int incx,
                                                const double* y, int incy, double* result);
/// The Euclidean length of x.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSnrm2(cublasHandle_t handle, int n, const float* x, int incx, float* result);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDnrm2(cublasHandle_t handle, int n, const double* x, int incx,
                                                 double* result);
/// The sum of the magnitudes of x.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasSasum(cublasHandle_t handle, int n, const float* x, int incx, float* result);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasDasum(cublasHandle_t handle, int n, const double* x, int incx,
                                                 double* result);
/// Which element has the largest magnitude, the first from 1; 0 if there are none.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasIsamax(cublasHandle_t handle, int n, const float* x, int incx, int* result);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasIdamax(cublasHandle_t handle, int n, const double* x, int incx, int* result);
/// The same for the smallest magnitude.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasIsamin(cublasHandle_t handle, int n, const float* x, int incx, int* result);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasIdamin(cublasHandle_t handle, int n, const double* x, int incx, int* result);

}  // extern "C"
