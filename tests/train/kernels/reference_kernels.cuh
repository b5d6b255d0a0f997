#pragma once
/// @file
/// What the reference kernels are made of. Private to them.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/cuda_check.hpp"
#include "device/launch.hpp"
#include "kernels/reference_kernels.hpp"

namespace lockstep::kernels::testing::reference {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

inline constexpr int kThreads = 256;
inline constexpr std::int64_t kMostBlocks = 8192;

/// The view as kernels read it. An undefined one reads as zeros.
struct Elements {
  const void* data;
  std::int64_t rows, columns;
  bool is_bfloat16;

  explicit Elements(const View& view)
      : data(view.data), rows(view.rows), columns(view.columns), is_bfloat16(view.dtype == DType::kBFloat16) {}

  __device__ double at(std::int64_t i) const {
    if (data == nullptr) return 0.0;
    if (!is_bfloat16) return static_cast<double>(static_cast<const float*>(data)[i]);
    return static_cast<double>(
        __uint_as_float(static_cast<unsigned int>(static_cast<const unsigned short*>(data)[i]) << 16));
  }
};

/// Device memory of one comparison.
template <typename T>
class Memory {
 public:
  explicit Memory(std::int64_t count) {
    void* data = nullptr;
    cuda_check(cudaMalloc(&data, static_cast<std::size_t>(count) * sizeof(T)));
    data_ = static_cast<T*>(data);
    cuda_check(cudaMemset(data, 0, static_cast<std::size_t>(count) * sizeof(T)));
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

__device__ inline std::int64_t first_index() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::int64_t index_stride() { return std::int64_t{gridDim.x} * blockDim.x; }

/// function(i) for all i in [0, count).
template <typename Function>
__global__ void for_each(Function function, std::int64_t count) {
  for (std::int64_t i = first_index(); i < count; i += index_stride()) function(i);
}

template <typename Function>
void run(const Function& function, std::int64_t count) {
  const std::int64_t blocks = std::min((count + kThreads - 1) / kThreads, kMostBlocks);
  cuda_check(device::launch(for_each<Function>, dim3(static_cast<unsigned int>(blocks)), dim3(kThreads), 0, nullptr,
                            function, count));
}

__device__ inline double error_of(double value, double expected, double floor) {
  const double error = fabs(value - expected) / fmax(floor, fabs(expected));
  return error == error ? error : HUGE_VAL;
}

/// Errors are not negative: their bits are in the order of their values. Most are not the worst, and need no atomic.
__device__ inline void note_error(unsigned long long* worst, double error) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(error));
  if (bits > *static_cast<volatile unsigned long long*>(worst)) atomicMax(worst, bits);
}

/// Compares result[i] with expected(i).
template <typename Expected>
__global__ void compare(unsigned long long* worst, Elements result, Expected expected, double floor) {
  double largest = 0.0;
  for (std::int64_t i = first_index(); i < result.rows * result.columns; i += index_stride()) {
    largest = fmax(largest, error_of(result.at(i), expected(i), floor));
  }
  note_error(worst, largest);
}

inline double read_error(const Memory<unsigned long long>& worst) {
  double error = 0.0;
  cuda_check(cudaMemcpy(&error, worst.data(), sizeof error, cudaMemcpyDeviceToHost));
  return error;
}

template <typename Expected>
double worst_error(const View& result, const Expected& expected, double floor) {
  const Memory<unsigned long long> worst(1);
  const std::int64_t blocks = std::min((result.rows * result.columns + kThreads - 1) / kThreads, kMostBlocks);
  cuda_check(device::launch(compare<Expected>, dim3(static_cast<unsigned int>(blocks)), dim3(kThreads), 0, nullptr,
                            worst.data(), Elements(result), expected, floor));
  return read_error(worst);
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::testing::reference
