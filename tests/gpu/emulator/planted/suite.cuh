#pragma once
// Shared by the programs of this folder: device arrays with their copies, and a check of every CUDA call.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) ::suite::check((call), __FILE__, __LINE__)

namespace suite {

inline void check(cudaError_t status, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(status));
  std::exit(1);
}

// Device memory that lives as long as this object.
template <typename T>
class Array {
 public:
  explicit Array(std::size_t count) : count_(count) { CHECK(cudaMalloc(&data_, count * sizeof(T))); }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    CHECK(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data_); }

  T* get() const { return data_; }
  void clear() { CHECK(cudaMemset(data_, 0, count_ * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> values(count_);
    CHECK(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

// Pinned memory of the host that lives as long as this object.
template <typename T>
class Pinned {
 public:
  Pinned(std::size_t count, T value) {
    CHECK(cudaMallocHost(&data_, count * sizeof(T)));
    for (std::size_t i = 0; i < count; ++i) data_[i] = value;
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { cudaFreeHost(data_); }

  T* get() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
};

class Stream {
 public:
  Stream() : Stream(cudaStreamNonBlocking) {}
  explicit Stream(unsigned flags) { CHECK(cudaStreamCreateWithFlags(&stream_, flags)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Small whole numbers, not all equal: their sums are exact in float32, in any order.
template <typename T>
std::vector<T> pattern(int count) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<T>((i * 7 + 3) % 11));
  return values;
}

inline bool is_close(double a, double b) { return std::abs(a - b) <= 1e-4 * (1.0 + std::abs(b)); }

// Kernels of several programs: a thread for each element.
[[maybe_unused]] static __global__ void add(float* out, const float* in, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] += in[i];
}

[[maybe_unused]] static __global__ void copy(float* out, const float* in, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i];
}

// The exit code of main().
inline int verdict(bool is_right) {
  std::puts(is_right ? "right" : "wrong");
  return is_right ? 0 : 1;
}

}  // namespace suite
