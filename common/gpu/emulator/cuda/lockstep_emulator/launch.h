#pragma once
/// @file
/// Launches: what `kernel<<<grid, block, shared, stream>>>(arguments)` becomes.
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernel_call.h"

namespace lockstep::emulator {

/// What stands between <<< and >>>.
struct LaunchShape {
  dim3 grid;                      ///< Blocks.
  dim3 block;                     ///< Threads of a block.
  std::size_t shared_bytes = 0;   ///< Dynamic shared memory.
  cudaStream_t stream = nullptr;  ///< Null: the default stream.
};

/// Checks the launch and puts it into its stream. An error is also what cudaGetLastError() then tells.
LOCKSTEP_EMULATOR_API cudaError_t enqueue_kernel(KernelCall call, cudaStream_t stream);

/// Launches what is called like a kernel: a function, or a lambda around a call of a template. The arguments are copied
/// now; each thread calls `callable` with its own copies of the copies.
/// @param name      As the source spells it, or null.
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
  // A bare pointer lies inside the std::function: what a kernel's thread reads is the call and `arguments`, no other
  // heap.
  call.body = [raw = bound.get()] { std::apply(std::get<0>(*raw), std::get<1>(*raw)); };
  call.arguments = bound.get();
  call.argument_bytes = sizeof(Bound);
  call.owner = bound;
  return enqueue_kernel(std::move(call), shape.stream);
}

/// Launches a kernel; arguments are converted to its parameters' types now, as a call would.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_kernel(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, SourcePlace place,
                          Arguments&&... arguments) {
  return launch_callable(name, reinterpret_cast<const void*>(kernel), shape, place, kernel,
                         static_cast<std::decay_t<Parameters>>(std::forward<Arguments>(arguments))...);
}

}  // namespace lockstep::emulator
