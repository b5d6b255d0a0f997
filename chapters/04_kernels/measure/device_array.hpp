#pragma once
/// @file
/// Memory of the current device for one array, and copies to and from it.
#include <cuda_runtime.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "device/cuda_check.hpp"

namespace lockstep::ladders {

/// Owns `count` values of type T in device memory. Host code cannot read them; kernels get data(). Move-only.
template <typename T>
class DeviceArray {
 public:
  /// Uninitialised memory. Never null, even for count 0: a null pointer would hide a kernel that touches an empty
  /// array.
  explicit DeviceArray(std::size_t count) : count_(count) {
    cuda_check(cudaMalloc(reinterpret_cast<void**>(&data_), std::max(bytes(), sizeof(T))), "allocating device memory");
  }

  /// A copy of host values.
  explicit DeviceArray(std::span<const T> values) : DeviceArray(values.size()) { set(values); }

  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }

  /// Replaces all values; `values` has the same count.
  void set(std::span<const T> values) {
    cuda_check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "copying to the device");
  }

  /// Waits for all work of the device, then copies.
  [[nodiscard]] std::vector<T> to_host() const {
    std::vector<T> values(count_);
    cuda_check(cudaDeviceSynchronize(), "waiting for the device");
    cuda_check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "copying from the device");
    return values;
  }

  /// Device pointer, for kernels.
  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }

  /// Sets all bits, which makes floats NaN: values that no kernel writes are noticed.
  void poison() { cuda_check(cudaMemset(data_, 0xff, bytes()), "filling device memory"); }

 private:
  [[nodiscard]] std::size_t bytes() const noexcept { return count_ * sizeof(T); }

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace lockstep::ladders
