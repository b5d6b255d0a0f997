#pragma once
/// @file
/// Launches with pointers to the arguments, by a kernel's address: cudaLaunchKernel and its relatives.
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "export.h"
#include "kernel_call.h"
#include "source_place.h"

namespace lockstep::emulator {

/// Checks the launch and issues it to its stream. An error also becomes the last error for cudaGetLastError().
LOCKSTEP_EMULATOR_API cudaError_t enqueue_kernel(KernelCall call, cudaStream_t stream);

/// Makes the call of a kernel; its arguments, given by pointers, are copied now.
using CallMaker = KernelCall (*)(const void* kernel, void** arguments);

/// The CallMaker of kernels with these parameters.
template <typename... Parameters>
KernelCall call_with_pointers(const void* function, [[maybe_unused]] void** arguments) {
  using Kernel = void (*)(Parameters...);
  using Bound = std::tuple<Kernel, std::tuple<std::decay_t<Parameters>...>>;
  const auto kernel = reinterpret_cast<Kernel>(const_cast<void*>(function));
  std::shared_ptr<const Bound> bound;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    bound = std::make_shared<const Bound>(
        kernel, std::tuple<std::decay_t<Parameters>...>(*static_cast<std::decay_t<Parameters>*>(arguments[I])...));
  }
  (std::index_sequence_for<Parameters...>{});
  KernelCall call;
  call.function = function;
  // A bare pointer: a kernel's thread reads only the call and `arguments`, no other heap memory.
  call.body = [raw = bound.get()] { std::apply(std::get<0>(*raw), std::get<1>(*raw)); };
  call.arguments = bound.get();
  call.argument_bytes = sizeof(Bound);
  call.owner = bound;
  return call;
}

/// Remembers how to call a kernel of which the program keeps only a void*. @return  `kernel`.
LOCKSTEP_EMULATOR_API void* remember_kernel(const void* kernel, const char* name, CallMaker maker);
/// The call of a remembered kernel.
/// @return  cudaErrorInvalidDeviceFunction if the address is not that of one.
LOCKSTEP_EMULATOR_API cudaError_t call_of_pointer(const void* kernel, void** arguments, KernelCall& call);

/// Replaces `(void*)kernel` in translated sources.
template <typename... Parameters>
void* known_kernel(const char* name, void (*kernel)(Parameters...)) {
  return remember_kernel(reinterpret_cast<const void*>(kernel), name, &call_with_pointers<Parameters...>);
}

/// The same if the name is not the kernel's but a variable's.
inline void* known_kernel(const char* /*name*/, const void* variable) { return const_cast<void*>(variable); }

/// Issues a call made from pointers.
inline cudaError_t launch_pointers(KernelCall call, dim3 grid, dim3 block, std::size_t shared_bytes,
                                   cudaStream_t stream, SourcePlace place) {
  call.place = place;
  call.grid = grid;
  call.block = block;
  call.shared_bytes = shared_bytes;
  return enqueue_kernel(std::move(call), stream);
}

}  // namespace lockstep::emulator

/// Launches with pointers to the arguments, like CUDA's function of this name. The arguments are copied now.
template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                             lockstep::emulator::SourcePlace place = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::launch_pointers(
      lockstep::emulator::call_with_pointers<Parameters...>(reinterpret_cast<const void*>(kernel), arguments), grid,
      block, shared_bytes, stream, place);
}
/// The same; the kernel's blocks may wait for one another (cooperative_groups::grid_group).
template <typename... Parameters>
cudaError_t cudaLaunchCooperativeKernel(
    void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes = 0,
    cudaStream_t stream = nullptr, lockstep::emulator::SourcePlace place = lockstep::emulator::SourcePlace::here()) {
  auto call = lockstep::emulator::call_with_pointers<Parameters...>(reinterpret_cast<const void*>(kernel), arguments);
  call.is_cooperative = true;
  return lockstep::emulator::launch_pointers(std::move(call), grid, block, shared_bytes, stream, place);
}
/// cudaLaunchKernel for a kernel's address without its type.
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                                    lockstep::emulator::SourcePlace place = lockstep::emulator::SourcePlace::here()) {
  lockstep::emulator::KernelCall call;
  const cudaError_t error = lockstep::emulator::call_of_pointer(kernel, arguments, call);
  if (error != cudaSuccess) return error;
  return lockstep::emulator::launch_pointers(std::move(call), grid, block, shared_bytes, stream, place);
}
/// cudaLaunchCooperativeKernel for a kernel's address without its type.
inline cudaError_t cudaLaunchCooperativeKernel(
    const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes = 0,
    cudaStream_t stream = nullptr, lockstep::emulator::SourcePlace place = lockstep::emulator::SourcePlace::here()) {
  lockstep::emulator::KernelCall call;
  const cudaError_t error = lockstep::emulator::call_of_pointer(kernel, arguments, call);
  if (error != cudaSuccess) return error;
  call.is_cooperative = true;
  return lockstep::emulator::launch_pointers(std::move(call), grid, block, shared_bytes, stream, place);
}
