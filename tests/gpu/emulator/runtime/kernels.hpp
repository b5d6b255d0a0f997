#pragma once
/// @file
/// Kernels that the runtime's tests launch, behind functions: the tests are not compiled for the device.
#include <cuda_runtime_api.h>

namespace lockstep::emulator::test {

/// x[i] = value.
cudaError_t fill(float* x, float value, int count, cudaStream_t stream);
/// y[i] = x[i].
cudaError_t copy(float* y, const float* x, int count, cudaStream_t stream);
/// x[i] += value, for all i, as many times as `rounds` says.
cudaError_t add(float* x, float value, int count, int rounds, cudaStream_t stream);
/// x[i] = table[i] for the four elements of a __constant__ table, and counts launches in a __device__ variable.
cudaError_t read_table(float* x, cudaStream_t stream);
/// kept[i] = i for block i, from its shared memory after two grid barriers. counts gets 101 and 102, by a host function
/// that has static variables: of the last block before the second barrier, and of the first one after it.
cudaError_t grid_barriers(int* kept, int* counts, int blocks);
/// Throws.
cudaError_t fail(cudaStream_t stream);
/// Asks for a block of 2048 threads.
cudaError_t too_many_threads();
/// Writes the four elements of the table. @param is_async  By cudaMemcpyToSymbolAsync.
cudaError_t set_table(const float* values, bool is_async, cudaStream_t stream);
/// Reads how often read_table() ran.
cudaError_t get_launch_count(int* count);
/// Of `fill`: attributes, occupancy, limits.
cudaError_t fill_attributes(cudaFuncAttributes* attributes);
/// Of `fill`, with blocks of that many threads and bytes.
cudaError_t fill_occupancy(int* blocks, int block_threads, std::size_t shared_bytes);
/// Of `fill`.
cudaError_t set_fill_shared(int bytes);

}  // namespace lockstep::emulator::test
