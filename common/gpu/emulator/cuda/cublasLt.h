#pragma once
/// @file
/// Replaces cuBLASLt's header of this name: products with epilogues, run on the CPU in stream order.
#include "cublas_api.h"
#include "lockstep_emulator/blaslt_types.h"

/// An algorithm for a product.
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;  ///< Pass it to cublasLtMatmul().
  size_t workspaceSize;       ///< 0: none is needed.
  cublasStatus_t state;       ///< The other members are valid only for CUBLAS_STATUS_SUCCESS.
  float wavesCount;           ///< 1.
  int reserved[4];            ///< Unused.
};

extern "C" {

/// For the current device.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle);
/// Returns at once; issued work completes.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle);
/// The enumerator's name.
LOCKSTEP_EMULATOR_API const char* cublasLtGetStatusName(cublasStatus_t status);
/// The enumerator's name.
LOCKSTEP_EMULATOR_API const char* cublasLtGetStatusString(cublasStatus_t status);
/// CUBLAS_VERSION.
LOCKSTEP_EMULATOR_API size_t cublasLtGetVersion();

/// @param compute_type  One with float32 sums. @param scale_type  CUDA_R_32F.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                                              cublasComputeType_t compute_type,
                                                              cudaDataType_t scale_type);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description);
/// @param bytes  Of the attribute's type.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                                                    cublasLtMatmulDescAttributes_t attribute,
                                                                    const void* value, size_t bytes);

/// Column-major. @param leading  Elements between columns.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                                                uint64_t rows, uint64_t columns, int64_t leading);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout);
/// @param bytes  Of the attribute's type.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                                      cublasLtMatrixLayoutAttribute_t attribute,
                                                                      const void* value, size_t bytes);

/// Without constraints.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference);
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference);
/// No effect.
LOCKSTEP_EMULATOR_API cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                     cublasLtMatmulPreferenceAttributes_t attribute, const void* value, size_t bytes);
/// One algorithm for every valid product; CUBLAS_STATUS_NOT_SUPPORTED and none for others. If several are requested, an
/// unusable one comes first, marked in its state, as can happen with NVIDIA's library: the caller must check. Up to two
/// follow that differ in nothing but their words.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int requested,
    cublasLtMatmulHeuristicResult_t* results, int* returned);

/// D = epilogue(alpha op(A) op(B) + beta C). C may be D, and is not read if beta is 0.
/// @param algorithm  Null, or one whose state was CUBLAS_STATUS_SUCCESS; else CUBLAS_STATUS_NOT_SUPPORTED.
/// @param workspace  May be null.
LOCKSTEP_EMULATOR_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                                    const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                                    const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                                                    const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                                    cublasLtMatrixLayout_t d_layout,
                                                    const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                                    size_t workspace_bytes, cudaStream_t stream);

}  // extern "C"
