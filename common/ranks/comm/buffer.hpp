#pragma once
/// @file
/// The data of a collective: typed elements on a device. `comm` does not depend on tensors.
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/dtype.hpp"
#include "device/device.hpp"

namespace lockstep::comm {

/// A view of `count` elements at `data`. Copies of it refer to the same memory.
struct Buffer {
  void* data = nullptr;    ///< Host or device memory; may be null if count is 0.
  std::int64_t count = 0;  ///< Elements, not bytes.
  DType dtype = DType::kFloat32;
  Device device = {};  ///< Of `data`.
  std::shared_ptr<void>
      keep_alive;  ///< Owner of the memory, held until the collective is done; null: the caller keeps it alive.

  [[nodiscard]] std::int64_t bytes() const noexcept { return count * static_cast<std::int64_t>(bytes_of(dtype)); }

  /// The elements as host memory. @pre dtype is T's and device is the CPU.
  template <typename T>
  [[nodiscard]] std::span<T> span() const noexcept {
    return {static_cast<T*>(data), static_cast<std::size_t>(count)};
  }
};

/// A Buffer over host memory that the caller keeps alive until the collective is done.
template <typename T, std::size_t Extent>
[[nodiscard]] Buffer host_buffer(std::span<T, Extent> values) noexcept {
  static_assert(!std::is_const_v<T>, "a Buffer may be written to: pass a span of elements that are not const");
  return {values.data(), static_cast<std::int64_t>(values.size()), dtype_of<T>, Device{}, nullptr};
}

/// The same for all elements of a vector.
template <typename T>
[[nodiscard]] Buffer host_buffer(std::vector<T>& values) noexcept {
  return host_buffer(std::span(values));
}

/// A Buffer over all elements of `values`, on whatever device they live; holds on to their storage.
/// @param values  Anything with data(), count(), dtype(), device() and storage(), such as a Tensor.
template <typename Values>
[[nodiscard]] Buffer buffer_of(const Values& values) {
  return {values.data(), values.count(), values.dtype(), values.device(), values.storage()};
}

}  // namespace lockstep::comm
