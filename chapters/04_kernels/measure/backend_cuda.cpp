// A GPU: times, and cuBLAS to compare with.
#include <cublas_v2.h>

#include <memory>

#include "04_kernels/measure/backend.hpp"
#include "04_kernels/measure/device_array.hpp"
#include "base/error.hpp"

namespace lockstep::ladders {

namespace {

using Bytes = DeviceArray<unsigned char>;

std::size_t area(int rows, int columns) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw Error(concat("cuBLAS failed: ", cublasGetStatusString(status)));
}

/// A handle, and three arrays of zeros; the values do not matter for the time.
struct Blas {
  explicit Blas(std::size_t a_bytes, std::size_t b_bytes, std::size_t c_bytes) : a(a_bytes), b(b_bytes), c(c_bytes) {
    check(cublasCreate(&handle));
    for (Bytes* array : {&a, &b, &c}) array->poison();
  }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  ~Blas() { cublasDestroy(handle); }

  cublasHandle_t handle = nullptr;
  Bytes a, b, c;
};

float* floats(Bytes& bytes) { return reinterpret_cast<float*>(bytes.data()); }

LibraryCall sum_of_magnitudes(int count) {
  auto blas = std::make_shared<Blas>(4 * area(count, 1), 4, 4);
  return {"cublasSasum", [blas, count](cudaStream_t stream) {
            check(cublasSetStream(blas->handle, stream));
            check(cublasSetPointerMode(blas->handle, CUBLAS_POINTER_MODE_DEVICE));
            check(cublasSasum(blas->handle, count, floats(blas->a), 1, floats(blas->c)));
          }};
}

/// cuBLAS stores matrices by columns: to it our C is its transpose, B^T A^T.
LibraryCall product(int m, int n, int k) {
  auto blas = std::make_shared<Blas>(4 * area(m, k), 4 * area(k, n), 4 * area(m, n));
  return {"cublasSgemm", [blas, m, n, k](cudaStream_t stream) {
            const float one = 1, zero = 0;
            check(cublasSetStream(blas->handle, stream));
            check(cublasSgemm(blas->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, floats(blas->b), n,
                              floats(blas->a), k, &zero, floats(blas->c), n));
          }};
}

LibraryCall bfloat16_product(int m, int n, int k) {
  auto blas = std::make_shared<Blas>(2 * area(m, k), 2 * area(n, k), 4 * area(m, n));
  return {"cublasGemmEx", [blas, m, n, k](cudaStream_t stream) {
            const float one = 1, zero = 0;
            check(cublasSetStream(blas->handle, stream));
            check(cublasGemmEx(blas->handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, blas->b.data(), CUDA_R_16BF, k,
                               blas->a.data(), CUDA_R_16BF, k, &zero, blas->c.data(), CUDA_R_32F, n, CUBLAS_COMPUTE_32F,
                               CUBLAS_GEMM_DEFAULT));
          }};
}

LibraryCall transposition(int rows, int columns) {
  auto blas = std::make_shared<Blas>(4 * area(rows, columns), 4, 4 * area(rows, columns));
  return {"cublasSgeam", [blas, rows, columns](cudaStream_t stream) {
            const float one = 1, zero = 0;
            check(cublasSetStream(blas->handle, stream));
            check(cublasSgeam(blas->handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, columns, &one, floats(blas->a), columns,
                              &zero, floats(blas->c), rows, floats(blas->c), rows));
          }};
}

/// Reads and writes `bytes` each.
LibraryCall copy(std::size_t bytes) {
  auto from = std::make_shared<Bytes>(bytes), to = std::make_shared<Bytes>(bytes);
  return {"cudaMemcpy", [from, to, bytes](cudaStream_t stream) {
            cuda_check(cudaMemcpyAsync(to->data(), from->data(), bytes, cudaMemcpyDeviceToDevice, stream), "copying");
          }};
}

}  // namespace

bool is_emulated() { return false; }

const Registry& plain_registry() { return plain::registry(); }

const Registry& counted_registry() {
  throw UnavailableError(
      "this build runs kernels on a GPU, where accesses are not counted; the preset cpu counts them");
}

Counts count_accesses(const std::function<void()>&) {
  static_cast<void>(counted_registry());
  return {};
}

std::optional<LibraryCall> library_call(std::string_view ladder, std::span<const int> sizes) {
  if (ladder == "reduction") return sum_of_magnitudes(sizes[0]);
  if (ladder == "matrix_product") return product(sizes[0], sizes[1], sizes[2]);
  if (ladder == "tensor_cores") return bfloat16_product(sizes[0], sizes[1], sizes[2]);
  if (ladder == "transpose") return transposition(sizes[0], sizes[1]);
  if (ladder == "adamw") return copy(14 * area(sizes[0], 1));
  if (ladder == "softmax" || ladder == "layer_norm") return copy(4 * area(sizes[0], sizes[1]));
  return std::nullopt;
}

}  // namespace lockstep::ladders
