#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <vector>

#include "kernels.hpp"

namespace lockstep::emulator::test {
namespace {

constexpr unsigned kBlockThreads = 64;

__constant__ float table[4];
__device__ int launch_count;

__global__ void fill_kernel(float* x, float value, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) x[i] = value;
}

__global__ void copy_kernel(float* y, const float* x, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) y[i] = x[i];
}

__global__ void add_kernel(float* x, float value, int count, int rounds) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int round = 0; i < count && round < rounds; ++round) x[i] += value;
}

__global__ void read_table_kernel(float* x) {
  x[threadIdx.x] = table[threadIdx.x];
  if (threadIdx.x == 0) ++launch_count;
}

__global__ void fail_kernel() { throw std::runtime_error("this kernel fails"); }

// Host code's own variables, made when they are first used.
int count_at_host() {
  static std::vector<int> counts;
  static int next = 100;
  counts.push_back(next++);
  return counts.front() + static_cast<int>(counts.size());
}

// Each block sets its shared variable; between the two barriers the last block also calls host code, as another thread
// of the host might at that time.
__global__ void grid_barriers_kernel(int* kept, int* counts) {
  __shared__ int own;
  own = static_cast<int>(blockIdx.x);
  cooperative_groups::this_grid().sync();
  if (blockIdx.x == gridDim.x - 1) counts[0] = count_at_host();
  cooperative_groups::this_grid().sync();
  kept[blockIdx.x] = own;
  if (blockIdx.x == 0) counts[1] = count_at_host();
}

LaunchShape shape_of(int count, cudaStream_t stream) {
  return {dim3((static_cast<unsigned>(count) + kBlockThreads - 1) / kBlockThreads), dim3(kBlockThreads), 0, stream};
}

}  // namespace

cudaError_t fill(float* x, float value, int count, cudaStream_t stream) {
  return launch_kernel("fill", fill_kernel, shape_of(count, stream), SourcePlace::here(), x, value, count);
}

cudaError_t copy(float* y, const float* x, int count, cudaStream_t stream) {
  return launch_kernel("copy", copy_kernel, shape_of(count, stream), SourcePlace::here(), y, x, count);
}

cudaError_t add(float* x, float value, int count, int rounds, cudaStream_t stream) {
  void* arguments[] = {&x, &value, &count, &rounds};
  const LaunchShape shape = shape_of(count, stream);
  return cudaLaunchKernel(add_kernel, shape.grid, shape.block, arguments, 0, stream);
}

cudaError_t read_table(float* x, cudaStream_t stream) {
  return launch_kernel("read_table", read_table_kernel, {dim3(1), dim3(4), 0, stream}, SourcePlace::here(), x);
}

cudaError_t grid_barriers(int* kept, int* counts, int blocks) {
  void* arguments[] = {&kept, &counts};
  return cudaLaunchCooperativeKernel(grid_barriers_kernel, dim3(static_cast<unsigned>(blocks)), dim3(1), arguments, 0,
                                     nullptr);
}

cudaError_t fail(cudaStream_t stream) {
  return launch_kernel("fail", fail_kernel, {dim3(1), dim3(1), 0, stream}, SourcePlace::here());
}

cudaError_t too_many_threads() {
  return launch_kernel("fail", fail_kernel, {dim3(1), dim3(2048), 0, nullptr}, SourcePlace::here());
}

cudaError_t set_table(const float* values, bool is_async, cudaStream_t stream) {
  if (!is_async) return cudaMemcpyToSymbol(table, values, sizeof table);
  return cudaMemcpyToSymbolAsync(table, values, sizeof table, 0, cudaMemcpyHostToDevice, stream);
}

cudaError_t get_launch_count(int* count) { return cudaMemcpyFromSymbol(count, launch_count, sizeof launch_count); }

cudaError_t fill_attributes(cudaFuncAttributes* attributes) { return cudaFuncGetAttributes(attributes, fill_kernel); }

cudaError_t fill_occupancy(int* blocks, int block_threads, std::size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, fill_kernel, block_threads, shared_bytes);
}

cudaError_t set_fill_shared(int bytes) {
  return cudaFuncSetAttribute(fill_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

}  // namespace lockstep::emulator::test
