#pragma once
/// @file
/// Kernel functions of the runtime's C API.
#include "export.h"
#include "kernel_pointer.h"
#include "runtime_types.h"

namespace lockstep::emulator {

/// cudaFuncSetAttribute.
LOCKSTEP_EMULATOR_API cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value);
/// cudaFuncGetAttributes.
LOCKSTEP_EMULATOR_API cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function);
/// cudaOccupancyMaxActiveBlocksPerMultiprocessor: limited by threads, blocks and dynamic shared memory; registers are
/// known only to the compiler and assumed to suffice.
LOCKSTEP_EMULATOR_API cudaError_t occupancy(int* blocks, const void* function, int block_threads, size_t shared_bytes);
/// Of a device.
LOCKSTEP_EMULATOR_API int multiprocessors() noexcept;

}  // namespace lockstep::emulator

/// Allows a kernel more dynamic shared memory than 48 KiB.
template <typename Function>
cudaError_t cudaFuncSetAttribute(Function* function, cudaFuncAttribute attribute, int value) {
  return lockstep::emulator::set_function_attribute(reinterpret_cast<const void*>(function), attribute, value);
}
template <typename Function>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Function* function) {
  return lockstep::emulator::function_attributes(attributes, reinterpret_cast<const void*>(function));
}
/// No effect.
template <typename Function>
cudaError_t cudaFuncSetCacheConfig(Function*, cudaFuncCache) {
  return cudaSuccess;
}
/// No effect.
template <typename Function>
cudaError_t cudaFuncSetSharedMemConfig(Function*, cudaSharedMemConfig) {
  return cudaSuccess;
}
/// How many blocks one multiprocessor holds, without considering registers.
template <typename Function>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function* function, int block_threads,
                                                          size_t shared_bytes) {
  return lockstep::emulator::occupancy(blocks, reinterpret_cast<const void*>(function), block_threads, shared_bytes);
}
/// The same.
template <typename Function>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Function* function, int block_threads,
                                                                   size_t shared_bytes, unsigned int /*flags*/) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_threads, shared_bytes);
}
/// A block size with which a multiprocessor holds the most threads, the largest of those, and how many such blocks fill
/// the device. @param shared_bytes  Of a block, by its size.
template <typename Function, typename SharedBytes>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid_blocks, int* block_threads, Function* function,
                                                           SharedBytes shared_bytes, int most_threads = 0) {
  if (grid_blocks == nullptr || block_threads == nullptr) return cudaErrorInvalidValue;
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaFuncGetAttributes(&attributes, function);
  int first = attributes.maxThreadsPerBlock, best = 0;
  if (most_threads > 0 && most_threads < first) first = most_threads;
  *grid_blocks = *block_threads = 0;
  for (int threads = first; threads > 0 && error == cudaSuccess; threads = (threads - 1) / 32 * 32) {
    int blocks = 0;
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared_bytes(threads));
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block_threads = threads;
    *grid_blocks = blocks * lockstep::emulator::multiprocessors();
  }
  return error;
}
/// The same for blocks that all have as much dynamic shared memory.
template <typename Function>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid_blocks, int* block_threads, Function* function,
                                               size_t shared_bytes = 0, int most_threads = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      grid_blocks, block_threads, function, [=](int) { return shared_bytes; }, most_threads);
}
