#include "04_kernels/5_histogram/histogram.hpp"
#include "exercise/alternatives.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"counts_of_warps", "each warp of the block has counts of its own, added up at the end"},
    {"runs", "a thread adds a run of equal bytes at once; atomicAdd() with the length"},
    {"four_bytes", "four bytes with each load; blocks of 256 threads"},
    {"one_warp_passes_on", "only the first warp passes on the block's counts; no launch without bytes"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

using exercise::is_alternative;

namespace {

constexpr int kValues = 256, kThreads = 128;

__device__ void clear(unsigned* counts, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) counts[i] = 0;
  __syncthreads();
}

__global__ void counts_of_warps_kernel(unsigned* counts, const unsigned char* bytes, int count) {
  constexpr int kWarps = kThreads / 32;
  __shared__ unsigned of_warp[kWarps * kValues];
  clear(of_warp, kWarps * kValues);
  unsigned* const own = of_warp + threadIdx.x / 32 * kValues;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) atomicAdd(&own[bytes[i]], 1U);
  __syncthreads();
  for (int value = threadIdx.x; value < kValues; value += kThreads) {
    unsigned sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) sum += of_warp[warp * kValues + value];
    atomicAdd(&counts[value], sum);
  }
}

__global__ void runs_kernel(unsigned* counts, const unsigned char* bytes, int count) {
  __shared__ unsigned of_block[kValues];
  clear(of_block, kValues);
  unsigned run = 0;
  int last = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    if (bytes[i] != last && run > 0) {
      atomicAdd(&of_block[last], run);
      run = 0;
    }
    last = bytes[i];
    ++run;
  }
  if (run > 0) atomicAdd(&of_block[last], run);
  __syncthreads();
  for (int value = threadIdx.x; value < kValues; value += kThreads)
    if (of_block[value] > 0) atomicAdd(counts + value, of_block[value]);
}

__global__ void four_bytes_kernel(unsigned* counts, const unsigned char* bytes, int count) {
  __shared__ unsigned of_block[kValues];
  clear(of_block, kValues);
  const auto* const words = reinterpret_cast<const unsigned*>(bytes);
  const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  for (int i = thread; i < count / 4; i += threads)
    for (unsigned shift = 0; shift < 32; shift += 8) atomicAdd(&of_block[words[i] >> shift & 255U], 1U);
  for (int i = count / 4 * 4 + thread; i < count; i += threads) atomicAdd(&of_block[bytes[i]], 1U);
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], of_block[threadIdx.x]);
}

__global__ void one_warp_passes_on_kernel(unsigned* counts, const unsigned char* bytes, int count) {
  __shared__ unsigned of_block[kValues];
  clear(of_block, kValues);
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads)
    atomicAdd(&of_block[bytes[i]], 1U);
  __syncthreads();
  if (threadIdx.x >= 32) return;
  for (int value = threadIdx.x; value < kValues; value += 32) atomicAdd(&counts[value], of_block[value]);
}

}  // namespace

void histogram(unsigned* counts, const unsigned char* bytes, int count, int blocks, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, kValues * sizeof(unsigned), stream);
  if (is_alternative("counts_of_warps")) counts_of_warps_kernel<<<blocks, kThreads, 0, stream>>>(counts, bytes, count);
  if (is_alternative("runs")) runs_kernel<<<blocks, kThreads, 0, stream>>>(counts, bytes, count);
  if (is_alternative("four_bytes")) four_bytes_kernel<<<blocks, kValues, 0, stream>>>(counts, bytes, count);
  if (is_alternative("one_warp_passes_on") && count > 0)
    one_warp_passes_on_kernel<<<blocks, kThreads, 0, stream>>>(counts, bytes, count);
}

}  // namespace lockstep::kernels
