#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "device/cuda_check.hpp"
#include "device/launch.hpp"

namespace lockstep::nccl {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1024;  // enough to fill a GPU; beyond it, each thread takes several elements

template <typename T>
__device__ T divided(T value, int divisor) {
  return value / static_cast<T>(divisor);
}

// The upper half of a float32.
__device__ BFloat16 divided(BFloat16 value, int divisor) {
  const float wide = __uint_as_float(static_cast<unsigned int>(value.bits) << 16);
  return {__bfloat16_as_ushort(__float2bfloat16_rn(wide / static_cast<float>(divisor)))};
}

template <typename T>
__global__ void divide_elements(T* values, std::int64_t count, int divisor) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < count; i += stride) values[i] = divided(values[i], divisor);
}

template <typename T>
void launch_for(void* values, std::int64_t count, int divisor, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks));
  cuda_check(device::launch(divide_elements<T>, blocks, kThreads, 0, stream, static_cast<T*>(values), count, divisor),
             "dividing a sum");
}

}  // namespace

// Takes a raw stream, so that it fits into a table of functions.
void divide_on(void* values, std::int64_t count, DType dtype, int divisor, cudaStream_t stream) {
  if (count == 0) return;
  switch (dtype) {
    case DType::kFloat32:
      return launch_for<float>(values, count, divisor, stream);
    case DType::kFloat64:
      return launch_for<double>(values, count, divisor, stream);
    case DType::kBFloat16:
      return launch_for<BFloat16>(values, count, divisor, stream);
    case DType::kInt32:
      return launch_for<std::int32_t>(values, count, divisor, stream);
    case DType::kInt64:
      return launch_for<std::int64_t>(values, count, divisor, stream);
    case DType::kUInt8:
    case DType::kFloat16:
      break;
  }
  throw ContractError(concat(dtype, " cannot be averaged: use float32, float64, bfloat16, int32 or int64"));
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::nccl
