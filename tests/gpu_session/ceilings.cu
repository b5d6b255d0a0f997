// ceilings: what this GPU reaches when nothing but copying or multiplying is asked of it, the bounds that kernels are
// held against. On random data: zeros cost less power, and a GPU that draws less power runs faster than it ever will in
// training. Prints one JSON object a line.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
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

void check(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "ceilings: cuBLAS: %s\n", cublasGetStatusString(status));
  std::exit(1);
}

// A hash of the element's number (the finalizer of MurmurHash3) as a number in [-1, 1).
template <typename T>
__global__ void fill_random(T* values, std::size_t count) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    std::uint32_t hash = static_cast<std::uint32_t>(i) * 0x9E3779B9u + 1;
    hash = (hash ^ (hash >> 16)) * 0x85EBCA6Bu;
    hash = (hash ^ (hash >> 13)) * 0xC2B2AE35u;
    values[i] = static_cast<T>(static_cast<float>(hash >> 8) * 0x1p-23f - 1.0f);
  }
}

template <typename T>
class RandomArray {
 public:
  explicit RandomArray(std::size_t count) {
    check(cudaMalloc(&data_, count * sizeof(T)), "allocate");
    fill_random<<<1024, 256>>>(data_, count);
    check(cudaGetLastError(), "fill");
  }
  RandomArray(const RandomArray&) = delete;
  RandomArray& operator=(const RandomArray&) = delete;
  ~RandomArray() { cudaFree(data_); }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

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
  check(cudaEventDestroy(begin), "event");
  check(cudaEventDestroy(end), "event");
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure_copy() {
  const std::size_t bytes = std::size_t{1} << 30;
  const RandomArray<float> from(bytes / sizeof(float)), to(bytes / sizeof(float));
  const float ms =
      median_ms([&] { check(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice), "copy"); });
  // Read once and written once.
  std::printf("{\"ceiling\": \"copy\", \"bytes\": %zu, \"ms\": %.4f, \"gb_s\": %.1f}\n", bytes, ms,
              2e-6 * static_cast<double>(bytes) / ms);
}

template <typename T>
void measure_product(cublasHandle_t handle, cudaDataType type, const char* name, int n) {
  const std::size_t count = static_cast<std::size_t>(n) * n;
  const RandomArray<T> a(count), b(count), c(count);
  const float one = 1, zero = 0;
  const float ms = median_ms([&] {
    check(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.get(), type, n, b.get(), type, n, &zero,
                       c.get(), type, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  });
  std::printf("{\"ceiling\": \"product\", \"dtype\": \"%s\", \"n\": %d, \"ms\": %.4f, \"tflop_s\": %.1f}\n", name, n,
              ms, 2e-9 * n * n * n / ms);
}

}  // namespace

int main() {
  measure_copy();
  std::fflush(stdout);
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle));
  measure_product<__nv_bfloat16>(handle, CUDA_R_16BF, "bfloat16", 8192);
  measure_product<float>(handle, CUDA_R_32F, "float32", 4096);
  check(cublasDestroy(handle));
  return 0;
}
