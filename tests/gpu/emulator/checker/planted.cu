// One small kernel for each class of bug, and next to it the right one. Tests look for lines by their marks.
#include "planted.hpp"

namespace lockstep::emulator::test {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {
namespace {

__global__ void reverse_without_barrier(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);  // mark: race write
  out[threadIdx.x] = tile[63 - threadIdx.x];            // mark: race read
}

__global__ void reverse(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

// Shared memory is used twice; the second barrier keeps slow readers from seeing the second round.
__global__ void two_rounds(float* out, bool has_second_barrier) {
  __shared__ float tile[64];
  for (int round = 0; round < 2; ++round) {
    tile[threadIdx.x] = static_cast<float>(round);  // mark: anew write
    __syncthreads();
    out[round * 64 + static_cast<int>(threadIdx.x)] = tile[63 - threadIdx.x];  // mark: anew read
    if (has_second_barrier) __syncthreads();
  }
}

// Threads that do not come to the barrier do not wait for it either: they race with those that do.
__global__ void barrier_in_branch(float* out, int waiting) {
  __shared__ float tile[64];
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);           // mark: branch write
  if (static_cast<int>(threadIdx.x) < waiting) __syncthreads();  // mark: branch barrier
  out[threadIdx.x] = tile[63 - threadIdx.x];                     // mark: branch read
}

__global__ void return_before_barrier(float* out, int waiting) {
  __shared__ float tile[64];
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (static_cast<int>(threadIdx.x) >= waiting) {
    out[threadIdx.x] = tile[63 - threadIdx.x];
    return;
  }
  __syncthreads();  // mark: return barrier
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void every_block_writes(int* out) { out[threadIdx.x] = static_cast<int>(blockIdx.x); }  // mark: blocks

__global__ void half_initialised(float* out) {
  __shared__ float tile[64];
  if (blockIdx.x == 0 || threadIdx.x < 32) tile[threadIdx.x] = 1;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];  // mark: leftover
}

__global__ void add_one(const float* in, float* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = in[i] + 1;  // mark: add
}

__global__ void small_elements(unsigned short* out, bool has_barrier) {
  __shared__ unsigned short tile[64];
  tile[threadIdx.x] = static_cast<unsigned short>(threadIdx.x);  // mark: small write
  if (has_barrier) __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1U];  // mark: small read
}

__global__ void dynamic_reverse(int* out) {
  int* const tile = dynamic_shared<int>();
  tile[threadIdx.x] = static_cast<int>(threadIdx.x);  // mark: dynamic write
  __syncthreads();
  out[threadIdx.x] = tile[31 - threadIdx.x];
}

__global__ void static_overrun(int* out, int extra) {
  __shared__ int tile[32];
  tile[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[static_cast<int>(threadIdx.x) + extra];  // mark: static overrun
}

__global__ void vector_load(const float* in, float* out) {
  out[threadIdx.x] = reinterpret_cast<const float4*>(in + threadIdx.x * 4 + 1)->x;  // mark: misaligned
}

__global__ void warp_reverse(int* out, bool has_barrier) {
  __shared__ int tile[32];
  tile[threadIdx.x] = static_cast<int>(threadIdx.x);  // mark: warp write
  if (has_barrier) __syncwarp();
  out[threadIdx.x] = tile[31 - threadIdx.x];  // mark: warp read
}

// "Last block done" (CUDA C++ Programming Guide, "Memory Fence Functions").
__global__ void sum_of_blocks(volatile int* partial, unsigned int* done, int* out, bool has_fence) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = static_cast<int>(blockIdx.x);  // mark: partial write
    if (has_fence) __threadfence();
    is_last = atomicAdd(done, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 32) return;
  int sum = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) sum += partial[block];  // mark: partial read
  *out = sum;
}

__global__ void count_all(int* total, int* out) {
  atomicAdd(total, 1);        // mark: count atomic
  out[threadIdx.x] = *total;  // mark: count read
}

__global__ void histogram(int* bins) { atomicAdd(&bins[threadIdx.x % 4], 1); }  // mark: bins

__device__ int device_counter;
__global__ void uses_device_variable(int* out) {
  if (threadIdx.x == 0) out[0] = device_counter;
}

template <int kPad>
__global__ void transpose(const float* in, float* out) {
  __shared__ float tile[32][32 + kPad];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];   // mark: tile store
  __syncthreads();                                                       // mark: tile barrier
  out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];  // mark: tile load
}

__global__ void strided(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x * 8]; }  // mark: strided

__global__ void copy_vectors(const float4* in, float4* out) { out[threadIdx.x] = in[threadIdx.x]; }  // mark: vectors

}  // namespace

template <typename... Parameters, typename... Arguments>
void start(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, Arguments... arguments) {
  static_cast<void>(launch_kernel(name, kernel, shape, SourcePlace::here(), arguments...));
}

std::vector<Planted> ordering_and_bounds() {
  return {
      {"race",
       [](const Buffers& b) {
         start("reverse_without_barrier", reverse_without_barrier, {1, 64}, b.floats);
       }},
      {"no race",
       [](const Buffers& b) {
         start("reverse", reverse, {1, 64}, b.fresh);
       }},
      {"anew",
       [](const Buffers& b) {
         start("two_rounds", two_rounds, {1, 64}, b.floats, false);
       }},
      {"not anew",
       [](const Buffers& b) {
         start("two_rounds", two_rounds, {1, 64}, b.floats, true);
       }},
      {"branch",
       [](const Buffers& b) {
         start("barrier_in_branch", barrier_in_branch, {1, 64}, b.floats, 40);
       }},
      {"return",
       [](const Buffers& b) {
         start("return_before_barrier", return_before_barrier, {1, 64}, b.floats, 40);
       }},
      {"blocks",
       [](const Buffers& b) {
         start("every_block_writes", every_block_writes, {2, 32}, b.ints);
       }},
      {"leftover",
       [](const Buffers& b) {
         start("half_initialised", half_initialised, {2, 64}, b.floats);
       }},
      {"unwritten",
       [](const Buffers& b) {
         start("add_one", add_one, {1, 64}, b.fresh, b.floats, 40);
       }},
      {"overrun",
       [](const Buffers& b) {
         start("add_one", add_one, {9, 128}, b.floats, b.floats, Buffers::kCount + 1);
       }},
      {"freed",
       [](const Buffers& b) {
         start("add_one", add_one, {1, 32}, b.freed, b.floats, 32);
       }},
      {"host",
       [](const Buffers& b) {
         start("add_one", add_one, {1, 32}, b.host, b.floats, 32);
       }},
      {"small",
       [](const Buffers& b) {
         start("small_elements", small_elements, {1, 64}, b.shorts, false);
       }},
      {"not small",
       [](const Buffers& b) {
         start("small_elements", small_elements, {1, 64}, b.shorts, true);
       }},
      {"dynamic overrun",
       [](const Buffers& b) {
         start("dynamic_reverse", dynamic_reverse, {1, 32, 64}, b.ints);
       }},
      {"dynamic",
       [](const Buffers& b) {
         start("dynamic_reverse", dynamic_reverse, {1, 32, 128}, b.ints);
       }},
  };
}

std::vector<Planted> shared_memory_warps_and_metrics() {
  return {
      {"static overrun",
       [](const Buffers& b) {
         start("static_overrun", static_overrun, {1, 32}, b.ints, 1);
       }},
      {"static negative",
       [](const Buffers& b) {
         start("static_overrun", static_overrun, {1, 32}, b.ints, -1);
       }},
      {"misaligned",
       [](const Buffers& b) {
         start("vector_load", vector_load, {1, 4}, b.floats, b.fresh);
       }},
      {"warp",
       [](const Buffers& b) {
         start("warp_reverse", warp_reverse, {1, 32}, b.ints, false);
       }},
      {"not warp",
       [](const Buffers& b) {
         start("warp_reverse", warp_reverse, {1, 32}, b.ints, true);
       }},
      {"no fence",
       [](const Buffers& b) {
         start("sum_of_blocks", sum_of_blocks, {4, 64}, b.ints, b.zero, b.ints + 64, false);
       }},
      {"fence",
       [](const Buffers& b) {
         start("sum_of_blocks", sum_of_blocks, {4, 64}, b.ints, b.zero, b.ints + 64, true);
       }},
      {"count",
       [](const Buffers& b) {
         start("count_all", count_all, {1, 64}, reinterpret_cast<int*>(b.zero), b.ints);
       }},
      {"bins",
       [](const Buffers& b) {
         start("histogram", histogram, {2, 64}, b.ints);
       }},
      {"fresh bins",
       [](const Buffers& b) {
         start("histogram", histogram, {2, 64}, reinterpret_cast<int*>(b.fresh));
       }},
      {"variable",
       [](const Buffers& b) {
         start("uses_device_variable", uses_device_variable, {1, 32}, b.zero_ints);
       }},
      {"transpose",
       [](const Buffers& b) {
         start("transpose", transpose<0>, {1, dim3(32, 32)}, b.floats, b.fresh);
       }},
      {"padded transpose",
       [](const Buffers& b) {
         start("transpose", transpose<1>, {1, dim3(32, 32)}, b.floats, b.fresh);
       }},
      {"strided",
       [](const Buffers& b) {
         start("strided", strided, {1, 32}, b.floats, b.fresh);
       }},
      {"vectors",
       [](const Buffers& b) {
         start("copy_vectors", copy_vectors, {1, 32}, reinterpret_cast<const float4*>(b.floats),
               reinterpret_cast<float4*>(b.fresh));
       }},
  };
}

const std::vector<Planted>& planted() {
  static const std::vector<Planted> kAll = [] {
    std::vector<Planted> all = ordering_and_bounds();
    for (Planted& each : shared_memory_warps_and_metrics()) all.push_back(std::move(each));
    return all;
  }();
  return kAll;
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::emulator::test
