#pragma once
/// @file
/// Vectors, matrices and factors of the cuBLAS functions that compute in the type of their elements.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <vector>

#include "emulator/checker/shadow.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/blas_handle.hpp"
#include "emulator/runtime/operation.hpp"
#include "emulator/runtime/transfer.hpp"

namespace lockstep::emulator {

/// A column-major matrix in device memory. A vector is a matrix of one row, whose leading dimension is the increment.
template <typename T>
struct Operand {
  T* data = nullptr;  ///< The program's address.
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;  ///< Elements between columns.
  bool is_reversed = false;  ///< A vector with a negative increment: its first element is stored last.

  [[nodiscard]] std::size_t bytes() const noexcept {
    return rows == 0 || columns == 0 ? 0 : static_cast<std::size_t>((columns - 1) * leading + rows) * sizeof(T);
  }
  /// Position of the element that is number `index`, column by column.
  [[nodiscard]] std::int64_t place(std::size_t index) const noexcept {
    const auto i = static_cast<std::int64_t>(index);
    return (is_reversed ? columns - 1 - i / rows : i / rows) * leading + i % rows;
  }
};

template <typename T>
Operand<T> vector_operand(const T* data, int count, int increment) {
  api_require(data != nullptr, cudaErrorInvalidValue, "a vector is null");
  return {const_cast<T*>(data), 1, count, std::abs(std::int64_t{increment}), increment < 0};
}

template <typename T>
Operand<T> matrix_operand(const T* data, int rows, int columns, int leading) {
  api_require(data != nullptr, cudaErrorInvalidValue, "a matrix is null");
  return {const_cast<T*>(data), rows, columns, leading};
}

/// For the order of streams. A vector or matrix with gaps may interleave with others, so it is not compared: 0 bytes.
template <typename T>
Access access(const Operand<T>& operand, bool is_write) {
  const bool is_dense = operand.leading == operand.rows;
  return {reinterpret_cast<const std::byte*>(operand.data), is_dense ? operand.bytes() : 0, is_write};
}

/// @throws ApiError  The operand lies in host memory, or not in one allocation.
template <typename T>
void require_on_device(const Operand<T>& operand) {
  api_require(place_of(operand.data) != MemoryPlace::kPageable, cudaErrorIllegalAddress,
              "a vector or matrix lies in host memory");
  require_inside(operand.data, operand.bytes());
}

/// The elements column by column, without gaps. Called when the operation runs.
template <typename T>
std::vector<T> load(const Operand<T>& operand) {
  std::vector<T> values(static_cast<std::size_t>(operand.rows * operand.columns));
  if (values.empty()) return values;
  require_on_device(operand);
  host_read(operand.data, operand.bytes());
  const auto* const stored = reinterpret_cast<const T*>(alias_of(operand.data));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = stored[operand.place(i)];
  return values;
}

/// The reverse of load().
template <typename T>
void store(const Operand<T>& operand, const std::vector<T>& values) {
  if (values.empty()) return;
  require_on_device(operand);
  auto* const stored = reinterpret_cast<T*>(alias_of(operand.data));
  for (std::size_t i = 0; i < values.size(); ++i) stored[operand.place(i)] = values[i];
  for (std::int64_t column = 0; column < operand.columns; ++column) {
    host_wrote(operand.data + column * operand.leading, static_cast<std::size_t>(operand.rows) * sizeof(T));
  }
}

/// alpha or beta: a value, or its address when the operation runs.
template <typename T>
class Scalar {
 public:
  Scalar(cublasHandle_t handle, const T* address) {
    api_require(address != nullptr, cudaErrorInvalidValue, "alpha or beta is null");
    if (handle->pointer_mode == CUBLAS_POINTER_MODE_HOST)
      value_ = *address;
    else
      address_ = address;
  }
  /// Called when the operation runs.
  [[nodiscard]] T value() const {
    T value = value_;
    if (address_ != nullptr) std::memcpy(&value, alias_of(address_), sizeof value);
    return value;
  }

 private:
  T value_{};
  const T* address_ = nullptr;  // in device memory
};

/// Appends a computation to the handle's stream. @return  Its end.
Point run_in_stream(const char* name, cublasHandle_t handle, std::initializer_list<Access> accesses,
                    std::function<void()> body);

/// The same for one that computes a number: it goes to `result` at once (the host waits), or in stream order if results
/// are in device memory.
template <typename Result>
void run_for_result(const char* name, cublasHandle_t handle, std::initializer_list<Access> accesses,
                    std::function<Result()> body, Result* result);

}  // namespace lockstep::emulator
