#pragma once
/// @file
/// Matrices for the tests of the cuBLAS look-alikes: on the device, and in double for the oracle.
#include <cublas_api.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bfloat16.hpp"
#include "base/float16.hpp"
#include "support/catch.hpp"

namespace lockstep::emulator::test {

/// An element's value after it is stored.
inline double rounded(double value, cudaDataType type) {
  const auto single = static_cast<float>(value);
  if (type == CUDA_R_16F) return to_float(to_float16(single));
  return type == CUDA_R_16BF ? to_float(to_bfloat16(single)) : single;
}

/// A matrix column by column, with a gap of `leading - rows` elements after each column, on the device.
class DeviceMatrix {
 public:
  DeviceMatrix(int rows, int columns, cudaDataType type, int gap = 0)
      : rows_(rows), columns_(columns), leading_(rows + gap), type_(type) {
    REQUIRE(cudaMalloc(&data_, bytes()) == cudaSuccess);
    REQUIRE(cudaMemset(data_, 0xFF, bytes()) == cudaSuccess);  // not a number, gaps included
  }
  ~DeviceMatrix() { cudaFree(data_); }
  DeviceMatrix(const DeviceMatrix&) = delete;
  DeviceMatrix& operator=(const DeviceMatrix&) = delete;

  /// Values in [-1, 1) that depend on `seed`. @return  This.
  DeviceMatrix& fill(std::uint32_t seed) {
    std::vector<std::byte> stored(bytes());
    REQUIRE(cudaMemcpy(stored.data(), data_, bytes(), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (std::size_t i = 0; i < stored.size() / element_bytes(); ++i) {
      if (static_cast<int>(i) % leading_ >= rows_) continue;
      seed = seed * 1664525U + 1013904223U;  // Numerical Recipes, "An Even Quicker Generator"
      const float value = static_cast<float>(seed >> 8) / 8388608.0F - 1.0F;
      if (type_ == CUDA_R_16BF) {
        reinterpret_cast<BFloat16*>(stored.data())[i] = to_bfloat16(value);
      } else if (type_ == CUDA_R_16F) {
        reinterpret_cast<Float16*>(stored.data())[i] = to_float16(value);
      } else {
        reinterpret_cast<float*>(stored.data())[i] = value;
      }
    }
    REQUIRE(cudaMemcpy(data_, stored.data(), bytes(), cudaMemcpyHostToDevice) == cudaSuccess);
    return *this;
  }

  /// Element (row, column) of the matrix as it is on the device, or of its transpose.
  [[nodiscard]] std::vector<std::vector<double>> values(bool is_transposed = false) const {
    std::vector<std::byte> stored(bytes());
    REQUIRE(cudaMemcpy(stored.data(), data_, bytes(), cudaMemcpyDeviceToHost) == cudaSuccess);
    const auto rows = static_cast<std::size_t>(is_transposed ? columns_ : rows_);
    const auto columns = static_cast<std::size_t>(is_transposed ? rows_ : columns_);
    std::vector<std::vector<double>> all(rows, std::vector<double>(columns));
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        const std::size_t i =
            (is_transposed ? row : column) * static_cast<std::size_t>(leading_) + (is_transposed ? column : row);
        all[row][column] = element(stored, i);
      }
    }
    return all;
  }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] float* floats() const { return static_cast<float*>(data_); }
  [[nodiscard]] int leading() const { return leading_; }
  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] cudaDataType type() const { return type_; }

 private:
  [[nodiscard]] double element(const std::vector<std::byte>& stored, std::size_t i) const {
    if (type_ == CUDA_R_16BF) return to_float(reinterpret_cast<const BFloat16*>(stored.data())[i]);
    if (type_ == CUDA_R_16F) return to_float(reinterpret_cast<const Float16*>(stored.data())[i]);
    return reinterpret_cast<const float*>(stored.data())[i];
  }
  [[nodiscard]] std::size_t element_bytes() const { return type_ == CUDA_R_32F ? 4 : 2; }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(leading_) * static_cast<std::size_t>(columns_) * element_bytes();
  }
  int rows_;
  int columns_;
  int leading_;
  cudaDataType type_;
  void* data_ = nullptr;
};

/// sum over k of a[row][k] b[k][column].
inline std::vector<std::vector<double>> product(const std::vector<std::vector<double>>& a,
                                                const std::vector<std::vector<double>>& b) {
  std::vector<std::vector<double>> all(a.size(), std::vector<double>(b[0].size()));
  for (std::size_t row = 0; row < a.size(); ++row) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t column = 0; column < b[0].size(); ++column) all[row][column] += a[row][k] * b[k][column];
    }
  }
  return all;
}

/// The largest error of a stored value. Operands lie in [-1, 1), so a float32 sum of k products of them departs by at
/// most (k + 4) k 2^-24 (Higham 2002, "Accuracy and Stability of Numerical Algorithms", section 3.1; four more
/// roundings for alpha, beta, a bias and the function behind them, whose derivative is below 2); storing in bfloat16
/// adds half a unit of its 8 bits, in float16 of its 11.
inline double tolerance(int k, double value, cudaDataType stored) {
  const double sum = 2.0 * (k + 4.0) * (k + 1.0) / 16777216.0;
  if (stored == CUDA_R_16F) return sum + std::abs(value) / 2048.0 + 0x1p-25;
  return sum + (stored == CUDA_R_16BF ? std::abs(value) / 256.0 : 0.0);
}

}  // namespace lockstep::emulator::test
