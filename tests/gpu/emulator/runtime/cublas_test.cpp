#include <cublas_v2.h>

#include <string>
#include <vector>

#include "emulator/runtime/device_matrix.hpp"

namespace {

using lockstep::emulator::test::DeviceMatrix;
using lockstep::emulator::test::product;
using lockstep::emulator::test::tolerance;

struct Handle {
  Handle() { REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS); }
  ~Handle() { cublasDestroy(handle); }
  cublasHandle_t handle = nullptr;
};

struct Shape {
  int m, n, k;
};

}  // namespace

TEST_CASE_METHOD(Handle, "cublasSgemm multiplies matrices and their transposes", "[emulator]") {
  const auto [m, n, k] = GENERATE(Shape{1, 1, 1}, Shape{31, 33, 7}, Shape{64, 5, 100});
  const auto a_operation = GENERATE(CUBLAS_OP_N, CUBLAS_OP_T);
  const auto b_operation = GENERATE(CUBLAS_OP_N, CUBLAS_OP_T);
  const bool a_is_transposed = a_operation == CUBLAS_OP_T;
  const bool b_is_transposed = b_operation == CUBLAS_OP_T;
  DeviceMatrix a(a_is_transposed ? k : m, a_is_transposed ? m : k, CUDA_R_32F, 3);
  DeviceMatrix b(b_is_transposed ? n : k, b_is_transposed ? k : n, CUDA_R_32F);
  DeviceMatrix c(m, n, CUDA_R_32F, 2);
  a.fill(1);
  b.fill(2);
  c.fill(3);
  const auto before = c.values();
  const float alpha = 0.5F;
  const float beta = -2.0F;
  REQUIRE(cublasSgemm(handle, a_operation, b_operation, m, n, k, &alpha, a.floats(), a.leading(), b.floats(),
                      b.leading(), &beta, c.floats(), c.leading()) == CUBLAS_STATUS_SUCCESS);
  const auto expected = product(a.values(a_is_transposed), b.values(b_is_transposed));
  const auto after = c.values();
  for (std::size_t row = 0; row < after.size(); ++row) {
    for (std::size_t column = 0; column < after[0].size(); ++column) {
      const double value = 0.5 * expected[row][column] - 2.0 * before[row][column];
      CHECK(std::abs(after[row][column] - value) <= tolerance(k, value, CUDA_R_32F));
    }
  }
}

TEST_CASE_METHOD(Handle,
                 "cublasGemmEx takes types of 16 bits and gives those or float32, and reads no C where beta is 0",
                 "[emulator]") {
  const auto factors = GENERATE(CUDA_R_16BF, CUDA_R_16F);
  const auto type = GENERATE_COPY(CUDA_R_32F, factors);
  DeviceMatrix a(33, 20, factors);
  DeviceMatrix b(20, 9, factors);
  DeviceMatrix c(33, 9, type);  // not a number
  a.fill(4);
  b.fill(5);
  const float one = 1.0F;
  const float zero = 0.0F;
  REQUIRE(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 33, 9, 20, &one, a.data(), factors, 33, b.data(), factors, 20,
                       &zero, c.data(), type, 33, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  const auto expected = product(a.values(), b.values());
  const auto after = c.values();
  for (std::size_t row = 0; row < 33; ++row) {
    for (std::size_t column = 0; column < 9; ++column) {
      CHECK(std::abs(after[row][column] - expected[row][column]) <= tolerance(20, expected[row][column], type));
    }
  }
}

TEST_CASE_METHOD(Handle, "cublasGemmStridedBatchedEx multiplies each matrix of a batch", "[emulator]") {
  constexpr int kBatch = 3;
  DeviceMatrix a(4, 5 * kBatch, CUDA_R_32F);  // side by side: a stride of 4 * 5
  DeviceMatrix b(5, 6, CUDA_R_32F);           // one for all
  DeviceMatrix c(4, 6 * kBatch, CUDA_R_32F);
  a.fill(6);
  b.fill(7);
  const float one = 1.0F;
  const float zero = 0.0F;
  REQUIRE(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 6, 5, &one, a.data(), CUDA_R_32F, 4, 20,
                                     b.data(), CUDA_R_32F, 5, 0, &zero, c.data(), CUDA_R_32F, 4, 24, kBatch,
                                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  const auto lefts = a.values();
  const auto after = c.values();
  for (std::size_t batch = 0; batch < kBatch; ++batch) {
    std::vector<std::vector<double>> left(4, std::vector<double>(5));
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t column = 0; column < 5; ++column) left[row][column] = lefts[row][batch * 5 + column];
    }
    const auto expected = product(left, b.values());
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t column = 0; column < 6; ++column) {
        const double value = expected[row][column];
        CHECK(std::abs(after[row][batch * 6 + column] - value) <= tolerance(5, value, CUDA_R_32F));
      }
    }
  }
}

TEST_CASE_METHOD(Handle, "A product without terms scales C, whatever A and B point at", "[emulator]") {
  DeviceMatrix c(3, 2, CUDA_R_32F);
  c.fill(9);
  const auto before = c.values();
  const float one = 1.0F;
  const auto multiply = [&](float beta, int lda, int ldb) {
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 2, 0, &one, nullptr, lda, nullptr, ldb, &beta, c.floats(),
                       c.leading());
  };
  REQUIRE(multiply(-2.0F, 3, 1) == CUBLAS_STATUS_SUCCESS);
  const auto scaled = c.values();
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 2; ++column) CHECK(scaled[row][column] == -2.0 * before[row][column]);
  }
  REQUIRE(multiply(0.0F, 3, 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(c.values() == std::vector<std::vector<double>>(3, std::vector<double>(2, 0.0)));
  CHECK(multiply(0.0F, 2, 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(0.0F, 3, 0) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(Handle, "Products run in stream order", "[emulator]") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
  DeviceMatrix a(2, 2, CUDA_R_32F);
  a.fill(8);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const float one = 1.0F;
  const float zero = 0.0F;
  DeviceMatrix b(2, 2, CUDA_R_32F);
  DeviceMatrix c(2, 2, CUDA_R_32F);
  REQUIRE(cudaMemsetAsync(b.data(), 0, 16, stream) == cudaSuccess);
  REQUIRE(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.floats(), 2, b.floats(), 2, &zero, c.floats(),
                      2) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cudaMemsetAsync(b.data(), 0xFF, 16, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(c.values() == std::vector<std::vector<double>>{{0.0, 0.0}, {0.0, 0.0}});
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE_METHOD(Handle, "Impossible products are refused", "[emulator]") {
  const float one = 1.0F;
  DeviceMatrix a(4, 4, CUDA_R_32F);
  const auto multiply = [&](int leading, cudaDataType type, cublasComputeType_t sums) {
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a.data(), type, leading, a.data(), CUDA_R_32F,
                        4, &one, a.data(), CUDA_R_32F, 4, sums, CUBLAS_GEMM_DEFAULT);
  };
  CHECK(multiply(3, CUDA_R_32F, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(4, CUDA_R_64F, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(multiply(4, CUDA_R_32F, CUBLAS_COMPUTE_64F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasSetStream(nullptr, nullptr) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(std::string(cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED)) == "CUBLAS_STATUS_NOT_SUPPORTED");
}
