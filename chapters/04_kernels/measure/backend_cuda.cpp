// A GPU: times, and cuBLAS to compare with.
#include <cublas_v2.h>

#include <memory>

#include "04_kernels/measure/backend.hpp"
#include "04_kernels/measure/ladder_problem.hpp"
#include "base/bfloat16.hpp"
#include "base/error.hpp"

namespace lockstep::ladders {

namespace {

using Bytes = DeviceArray<unsigned char>;

std::size_t area(int rows, int columns) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw Error(concat("cuBLAS failed: ", cublasGetStatusString(status)));
}

/// Whole numbers, as the ladder's own inputs are: with zeros, say, a GPU needs less power and multiplies faster.
Bytes float_inputs(std::size_t count) {
  const std::vector<float> values = whole_numbers(count, 4, 7);
  return Bytes(std::span(reinterpret_cast<const unsigned char*>(values.data()), 4 * count));
}

Bytes bfloat16_inputs(std::size_t count) {
  std::vector<std::uint16_t> bits;
  for (const float value : whole_numbers(count, 4, 7)) bits.push_back(to_bfloat16(value).bits);
  return Bytes(std::span(reinterpret_cast<const unsigned char*>(bits.data()), 2 * count));
}

/// A handle, two inputs and a result.
struct Blas {
  Blas(Bytes first, Bytes second, std::size_t result_bytes)
      : a(std::move(first)), b(std::move(second)), c(result_bytes) {
    check(cublasCreate(&handle));
    c.poison();
  }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  ~Blas() { cublasDestroy(handle); }

  cublasHandle_t handle = nullptr;
  Bytes a, b, c;
};

float* floats(Bytes& bytes) { return reinterpret_cast<float*>(bytes.data()); }

LibraryCall sum_of_magnitudes(int count) {
  auto blas = std::make_shared<Blas>(float_inputs(area(count, 1)), float_inputs(1), 4);
  return {"cublasSasum", [blas, count](cudaStream_t stream) {
            check(cublasSetStream(blas->handle, stream));
            check(cublasSetPointerMode(blas->handle, CUBLAS_POINTER_MODE_DEVICE));
            check(cublasSasum(blas->handle, count, floats(blas->a), 1, floats(blas->c)));
          }};
}

/// cuBLAS stores matrices by columns: to it our C is its transpose, B^T A^T.
LibraryCall product(int m, int n, int k) {
  auto blas = std::make_shared<Blas>(float_inputs(area(m, k)), float_inputs(area(k, n)), 4 * area(m, n));
  return {"cublasSgemm", [blas, m, n, k](cudaStream_t stream) {
            const float one = 1, zero = 0;
            check(cublasSetStream(blas->handle, stream));
            check(cublasSgemm(blas->handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, floats(blas->b), n,
                              floats(blas->a), k, &zero, floats(blas->c), n));
          }};
}

LibraryCall bfloat16_product(int m, int n, int k) {
  auto blas = std::make_shared<Blas>(bfloat16_inputs(area(m, k)), bfloat16_inputs(area(n, k)), 4 * area(m, n));
  return {"cublasGemmEx", [blas, m, n, k](cudaStream_t stream) {
            const float one = 1, zero = 0;
            check(cublasSetStream(blas->handle, stream));
            check(cublasGemmEx(blas->handle, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, blas->b.data(), CUDA_R_16BF, k,
                               blas->a.data(), CUDA_R_16BF, k, &zero, blas->c.data(), CUDA_R_32F, n, CUBLAS_COMPUTE_32F,
                               CUBLAS_GEMM_DEFAULT));
          }};
}

LibraryCall transposition(int rows, int columns) {
  auto blas = std::make_shared<Blas>(float_inputs(area(rows, columns)), float_inputs(1), 4 * area(rows, columns));
  return {"cublasSgeam", [blas, rows, columns](cudaStream_t stream) {
            const float one = 1, zero = 0;
            check(cublasSetStream(blas->handle, stream));
            check(cublasSgeam(blas->handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, columns, &one, floats(blas->a), columns,
                              &zero, floats(blas->c), rows, floats(blas->c), rows));
          }};
}

/// Reads and writes `bytes` each.
LibraryCall copy(std::size_t bytes) {
  auto from = std::make_shared<Bytes>(float_inputs(bytes / 4)), to = std::make_shared<Bytes>(bytes);
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
