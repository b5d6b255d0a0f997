#pragma once
/// @file
/// Replaces CUDA's header of this name: types of matrix elements. The numbers are CUDA's.

/// Type of matrix elements; the emulator multiplies CUDA_R_32F, CUDA_R_16BF and CUDA_R_16F.
enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_8I = 3,
  CUDA_R_32I = 10,
  CUDA_R_16BF = 14,
};
using cudaDataType = cudaDataType_t;
