#pragma once
/// @file
/// Kernel functions of the runtime's C API.
#include <memory>
#include <tuple>
#include <utility>

#include "export.h"
#include "kernel_call.h"
#include "runtime_types.h"

namespace lockstep::emulator {

/// Checks the launch and issues it to its stream. An error also becomes the last error for cudaGetLastError().
LOCKSTEP_EMULATOR_API cudaError_t enqueue_kernel(KernelCall call, cudaStream_t stream);
/// cudaFuncSetAttribute.
LOCKSTEP_EMULATOR_API cudaError_t set_function_attribute(const void* function, cudaFuncAttribute attribute, int value);
/// cudaFuncGetAttributes.
LOCKSTEP_EMULATOR_API cudaError_t function_attributes(cudaFuncAttributes* attributes, const void* function);
/// cudaOccupancyMaxActiveBlocksPerMultiprocessor: limited by threads, blocks and dynamic shared memory; registers are
/// known only to the compiler and assumed to suffice.
LOCKSTEP_EMULATOR_API cudaError_t occupancy(int* blocks, const void* function, int block_threads, size_t shared_bytes);

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
/// How many blocks one multiprocessor holds, without considering registers.
template <typename Function>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function* function, int block_threads,
                                                          size_t shared_bytes) {
  return lockstep::emulator::occupancy(blocks, reinterpret_cast<const void*>(function), block_threads, shared_bytes);
}
/// Launches with pointers to the arguments, like CUDA's function of this name. The arguments are copied now.
template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                             lockstep::emulator::SourcePlace place = lockstep::emulator::SourcePlace::here()) {
  using Copies = std::tuple<std::decay_t<Parameters>...>;
  std::shared_ptr<const Copies> copies;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    copies = std::make_shared<const Copies>(*static_cast<std::decay_t<Parameters>*>(arguments[I])...);
  }
  (std::index_sequence_for<Parameters...>{});
  lockstep::emulator::KernelCall call;
  call.function = reinterpret_cast<const void*>(kernel);
  call.place = place;
  call.grid = grid;
  call.block = block;
  call.shared_bytes = shared_bytes;
  call.body = [kernel, copies] { std::apply(kernel, *copies); };
  call.arguments = copies.get();
  call.argument_bytes = sizeof(Copies);
  return lockstep::emulator::enqueue_kernel(std::move(call), stream);
}
