// Host code that is instrumented like a kernel and full of templates which the emulator's library uses too.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

__global__ void shift(const int* in, int* out, bool has_barrier) {
  __shared__ int tile[32];
  tile[threadIdx.x] = in[threadIdx.x];
  if (has_barrier) __syncthreads();
  out[threadIdx.x] = tile[(threadIdx.x + 1) % 32];
}

namespace {

// Vectors, maps, shared pointers and atomics on several threads.
long work_of_host() {
  std::atomic<long> sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&sum, t] {
      std::map<std::string, std::shared_ptr<std::vector<int>>> all;
      for (int i = 0; i < 100; ++i) {
        auto& values = all[std::to_string(i % 7)];
        if (values == nullptr) values = std::make_shared<std::vector<int>>();
        values->push_back(i * t);
      }
      for (const auto& [name, values] : all) sum += static_cast<long>(values->size());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return sum;
}

}  // namespace

int main(int argc, char**) {
  int *in = nullptr, *out = nullptr;
  std::vector<int> values(32);
  for (int i = 0; i < 32; ++i) values[static_cast<std::size_t>(i)] = i;
  static_cast<void>(cudaMalloc(reinterpret_cast<void**>(&in), 128));
  static_cast<void>(cudaMalloc(reinterpret_cast<void**>(&out), 128));
  static_cast<void>(cudaMemcpy(in, values.data(), 128, cudaMemcpyHostToDevice));
  const bool has_barrier = argc == 1;
  static_cast<void>(lockstep::emulator::launch_kernel("shift", shift, {1, 32}, lockstep::emulator::SourcePlace::here(),
                                                      in, out, has_barrier));
  const long sum = work_of_host();
  static_cast<void>(cudaMemcpy(values.data(), out, 128, cudaMemcpyDeviceToHost));
  std::rotate(values.begin(), values.begin() + 31, values.end());
  std::printf("%ld %s\n", sum, std::is_sorted(values.begin(), values.end()) ? "sorted" : "not sorted");
  return 0;
}
