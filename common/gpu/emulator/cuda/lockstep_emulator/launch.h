#pragma once
/// @file
/// Launches: the translation of `kernel<<<grid, block, shared, stream>>>(arguments)`.
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernel_call.h"

namespace lockstep::emulator {

/// The arguments between <<< and >>>.
struct LaunchShape {
  dim3 grid;                      ///< Blocks.
  dim3 block;                     ///< Threads of a block.
  std::size_t shared_bytes = 0;   ///< Bytes of dynamic shared memory.
  cudaStream_t stream = nullptr;  ///< Null: the default stream.
  bool is_cooperative = false;    ///< Blocks may wait for one another.
};

/// Checks the launch and issues it to its stream. An error also becomes the last error for cudaGetLastError().
LOCKSTEP_EMULATOR_API cudaError_t enqueue_kernel(KernelCall call, cudaStream_t stream);

/// Launches a callable as a kernel: a function, or a lambda that calls a template. The arguments are copied now; each
/// thread calls `callable` with a fresh copy of them.
/// @param name      As written in the source, or null.
/// @param function  Identifies the kernel, or null.
template <typename Callable, typename... Arguments>
cudaError_t launch_callable(const char* name, const void* function, const LaunchShape& shape, SourcePlace place,
                            Callable callable, Arguments&&... arguments) {
  using Bound = std::tuple<Callable, std::tuple<std::decay_t<Arguments>...>>;
  const auto bound = std::make_shared<const Bound>(
      callable, std::tuple<std::decay_t<Arguments>...>(std::forward<Arguments>(arguments)...));
  KernelCall call;
  call.name = name;
  call.function = function;
  call.place = place;
  call.grid = shape.grid;
  call.block = shape.block;
  call.shared_bytes = shape.shared_bytes;
  call.is_cooperative = shape.is_cooperative;
  // The std::function holds a bare pointer: a kernel's thread reads only the call and `arguments`, no other heap
  // memory.
  call.body = [raw = bound.get()] { std::apply(std::get<0>(*raw), std::get<1>(*raw)); };
  call.arguments = bound.get();
  call.argument_bytes = sizeof(Bound);
  call.owner = bound;
  return enqueue_kernel(std::move(call), shape.stream);
}

/// Launches a kernel; its arguments are converted to the parameters' types now, as in a call.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_kernel(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, SourcePlace place,
                          Arguments&&... arguments) {
  return launch_callable(name, reinterpret_cast<const void*>(kernel), shape, place, kernel,
                         static_cast<std::decay_t<Parameters>>(std::forward<Arguments>(arguments))...);
}

}  // namespace lockstep::emulator
