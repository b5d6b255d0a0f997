// ceilings: what this GPU reaches when nothing but copying or multiplying is asked of it, the bounds that kernels are
// held against. Prints one JSON object a line, for session.sh.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "ceilings: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Median of the milliseconds that `work` takes, over rounds after three for warming up.
float median_ms(const std::function<void()>& work) {
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<float> times;
  for (int round = -3; round < 15; ++round) {
    check(cudaEventRecord(begin), "record");
    work();
    check(cudaEventRecord(end), "record");
    check(cudaEventSynchronize(end), "wait");
    float time = 0;
    check(cudaEventElapsedTime(&time, begin, end), "time");
    if (round >= 0) times.push_back(time);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure_copy(void* from, void* to, std::size_t bytes) {
  const float ms = median_ms([&] { check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "copy"); });
  // Read once and written once.
  std::printf("{\"phase\": \"probe\", \"event\": \"copy\", \"bytes\": %zu, \"ms\": %.4f, \"gb_s\": %.1f}\n", bytes, ms,
              2e-6 * static_cast<double>(bytes) / ms);
}

void measure_product(cublasHandle_t handle, void* memory, cudaDataType type, const char* name) {
  const int n = 4096;
  const float one = 1, zero = 0;
  char* base = static_cast<char*>(memory);
  const std::size_t bytes = std::size_t{4} * n * n;
  const float ms = median_ms([&] {
    const cublasStatus_t status =
        cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, base, type, n, base + bytes, type, n, &zero,
                     base + 2 * bytes, type, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) std::exit(1);
  });
  std::printf("{\"phase\": \"probe\", \"event\": \"product\", \"type\": \"%s\", \"n\": %d, \"ms\": %.4f, ", name, n,
              ms);
  std::printf("\"tflop_s\": %.1f}\n", 2e-9 * n * n * n / ms);
}

}  // namespace

int main() {
  const std::size_t bytes = std::size_t{1} << 29;
  void* memory = nullptr;
  check(cudaMalloc(&memory, 2 * bytes), "allocate");
  check(cudaMemset(memory, 0, 2 * bytes), "clear");
  measure_copy(memory, static_cast<char*>(memory) + bytes, bytes);
  cublasHandle_t handle = nullptr;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
  measure_product(handle, memory, CUDA_R_32F, "float32");
  measure_product(handle, memory, CUDA_R_16BF, "bfloat16");
  cublasDestroy(handle);
  check(cudaFree(memory), "free");
  return 0;
}
