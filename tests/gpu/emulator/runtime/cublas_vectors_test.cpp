#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"

namespace {

// Values are small integers: every sum is exact, in float32 too.
template <typename T>
class DeviceValues {
 public:
  explicit DeviceValues(const std::vector<T>& values) : count_(values.size()) {
    REQUIRE(cudaMalloc(&data_, count_ * sizeof(T)) == cudaSuccess);
    REQUIRE(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  ~DeviceValues() { cudaFree(data_); }
  DeviceValues(const DeviceValues&) = delete;
  DeviceValues& operator=(const DeviceValues&) = delete;

  [[nodiscard]] T* data() const { return static_cast<T*>(data_); }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> all(count_);
    REQUIRE(cudaMemcpy(all.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
    return all;
  }

 private:
  std::size_t count_;
  void* data_ = nullptr;
};

struct VectorHandle {
  VectorHandle() { REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS); }
  ~VectorHandle() { cublasDestroy(handle); }
  cublasHandle_t handle = nullptr;
};

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

}  // namespace

TEST_CASE_METHOD(VectorHandle, "cuBLAS's vector functions follow increments, backwards if they are negative",
                 "[emulator]") {
  const DeviceValues<float> x({1, 2, 3, 4, 5, 6});
  const DeviceValues<float> y({10, 20, 30});
  const float two = 2;
  REQUIRE(cublasSaxpy(handle, 3, &two, x.data(), 2, y.data(), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(y.values() == Floats{12, 26, 40});
  REQUIRE(cublasScopy(handle, 3, x.data(), -1, y.data(), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(y.values() == Floats{3, 2, 1});
  REQUIRE(cublasSswap(handle, 3, x.data(), 2, y.data(), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(x.values() == Floats{3, 2, 2, 4, 1, 6});
  CHECK(y.values() == Floats{1, 3, 5});
  REQUIRE(cublasSscal(handle, 2, &two, x.data() + 1, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(x.values() == Floats{3, 4, 2, 8, 1, 6});
}

TEST_CASE_METHOD(VectorHandle, "cuBLAS's reductions give numbers to the host, or in stream order to the device",
                 "[emulator]") {
  const DeviceValues<double> x({3, -4, 4, 0});
  const DeviceValues<double> y({1, 2, 5, 7});
  double sum = -1, length = -1, magnitudes = -1, none = -1;
  int largest = -1, smallest = -1, nothing = -1;
  REQUIRE(cublasDdot(handle, 4, x.data(), 1, y.data(), 1, &sum) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasDnrm2(handle, 2, x.data(), 1, &length) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasDasum(handle, 4, x.data(), 1, &magnitudes) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasIdamax(handle, 4, x.data(), 1, &largest) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasIdamin(handle, 4, x.data(), 1, &smallest) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasIdamax(handle, 0, x.data(), 1, &nothing) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasDdot(handle, 0, x.data(), 1, y.data(), 1, &none) == CUBLAS_STATUS_SUCCESS);
  CHECK(sum == 15);
  CHECK(length == 5);
  CHECK(magnitudes == 11);
  CHECK(largest == 2);  // the first of two
  CHECK(smallest == 4);
  CHECK(nothing == 0);
  CHECK(none == 0);

  const DeviceValues<double> result({-1});
  REQUIRE(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasDdot(handle, 3, x.data(), 1, y.data(), 1, result.data()) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasDscal(handle, 4, result.data(), y.data(), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(result.values() == Doubles{15});
  CHECK(y.values() == Doubles{15, 30, 75, 105});
}

TEST_CASE_METHOD(VectorHandle, "cublasSgemv and cublasSger use columns that are a leading dimension apart",
                 "[emulator]") {
  const DeviceValues<float> a({1, 2, -9, 3, 4, -9, 5, 6, -9});  // 2 x 3: 1 3 5, 2 4 6
  const DeviceValues<float> x({1, 10, 100});
  const DeviceValues<float> y({7, 8, NAN});
  const float one = 1, two = 2, zero = 0;
  REQUIRE(cublasSgemv(handle, CUBLAS_OP_N, 2, 3, &one, a.data(), 3, x.data(), 1, &two, y.data(), 1) ==
          CUBLAS_STATUS_SUCCESS);
  CHECK(y.values()[0] == 545);  // 531 + 14
  CHECK(y.values()[1] == 658);  // 642 + 16
  REQUIRE(cublasSgemv(handle, CUBLAS_OP_T, 2, 3, &two, a.data(), 3, x.data(), 1, &zero, y.data(), 1) ==
          CUBLAS_STATUS_SUCCESS);
  CHECK(y.values() == Floats{42, 86, 130});
  REQUIRE(cublasSger(handle, 2, 3, &two, x.data(), -1, x.data(), 1, a.data(), 3) == CUBLAS_STATUS_SUCCESS);
  CHECK(a.values() == Floats{21, 4, -9, 203, 24, -9, 2005, 206, -9});
}

TEST_CASE_METHOD(VectorHandle, "cublasDgemm multiplies matrices and their transposes", "[emulator]") {
  const DeviceValues<double> a({1, 2, 3, 4, 5, 6});  // 2 x 3: 1 3 5, 2 4 6
  const DeviceValues<double> b({1, 0, 2, 0, 1, 3});  // 3 x 2: 1 0, 0 1, 2 3
  const DeviceValues<double> c({NAN, NAN, NAN, NAN});
  const double one = 1, two = 2, zero = 0;
  const auto multiply = [&](cublasOperation_t left, cublasOperation_t right, int lda, int ldb, const double* beta) {
    return cublasDgemm(handle, left, right, 2, 2, 3, &one, a.data(), lda, b.data(), ldb, beta, c.data(), 2);
  };
  REQUIRE(multiply(CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, &zero) == CUBLAS_STATUS_SUCCESS);
  CHECK(c.values() == Doubles{11, 14, 18, 22});
  REQUIRE(multiply(CUBLAS_OP_T, CUBLAS_OP_T, 3, 2, &two) == CUBLAS_STATUS_SUCCESS);
  // A' = 1 2 3, 4 5 6; B' = 1 2 1, 0 0 3 by columns of 2: its transpose is 1 0, 2 0, 1 3.
  CHECK(c.values() == Doubles{22 + 8, 28 + 20, 36 + 9, 44 + 18});
  CHECK(multiply(CUBLAS_OP_N, CUBLAS_OP_N, 1, 3, &zero) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 0, &one, nullptr, 2, nullptr, 1, &two, c.data(), 2) ==
          CUBLAS_STATUS_SUCCESS);
  CHECK(c.values() == Doubles{60, 96, 90, 124});
}

TEST_CASE("cublasSetMatrix and its relatives copy columns and elements with gaps", "[emulator]") {
  const DeviceValues<float> device(Floats(6, -1));
  const Floats host = {1, 2, 3, 4, 5, 6};
  Floats back(4, 0);
  REQUIRE(cublasSetMatrix(2, 2, sizeof(float), host.data(), 3, device.data(), 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(device.values() == Floats{1, 2, 4, 5, -1, -1});
  REQUIRE(cublasGetMatrix(1, 2, sizeof(float), device.data(), 2, back.data(), 3) == CUBLAS_STATUS_SUCCESS);
  CHECK(back == Floats{1, 0, 0, 4});
  REQUIRE(cublasSetVector(3, sizeof(float), host.data(), 1, device.data(), 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(device.values() == Floats{1, 2, 2, 5, 3, -1});
  REQUIRE(cublasGetVector(2, sizeof(float), device.data() + 3, 2, back.data(), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(back == Floats{5, -1, 0, 4});
  CHECK(cublasSetMatrix(2, 2, sizeof(float), host.data(), 1, device.data(), 2) == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(VectorHandle, "cuBLAS's vector functions refuse host memory, null and lengths of 0 between elements",
                 "[emulator]") {
  const DeviceValues<float> x({1, 2});
  const float one = 1;
  float result = 0;
  CHECK(cublasSaxpy(handle, 2, &one, nullptr, 1, x.data(), 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSaxpy(handle, 2, &one, x.data(), 1, x.data(), 0) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasSaxpy(nullptr, 2, &one, x.data(), 1, x.data(), 1) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasSgemv(handle, CUBLAS_OP_N, 2, 1, &one, x.data(), 1, x.data(), 1, &one, x.data(), 1) ==
        CUBLAS_STATUS_INVALID_VALUE);
  const Floats host = {1, 2};
  CHECK(cublasSdot(handle, 2, host.data(), 1, x.data(), 1, &result) == CUBLAS_STATUS_EXECUTION_FAILED);
  CHECK(cudaDeviceReset() == cudaSuccess);
}
