#pragma once
/// @file
/// Functions that replace `kernel<<<...>>>(...)` in translated sources; see translate/translate.hpp.
#include <cstddef>
#include <utility>

#include "launch.h"
#include "memory.h"

namespace lockstep::emulator {

/// A launch of a kernel that is a single function: the arguments are converted to its parameters' types, as in a call.
template <typename... Parameters>
struct FunctionLaunch {
  SourcePlace place;
  const char* name;
  void (*kernel)(Parameters...);
  LaunchShape shape;

  void operator()(Parameters... arguments) const {
    static_cast<void>(launch_kernel(name, kernel, shape, place, std::move(arguments)...));
  }
};

/// A launch through a generic lambda: of an overloaded kernel, or one with deduced template arguments.
template <typename Call>
struct CallLaunch {
  SourcePlace place;
  const char* name;
  Call call;
  LaunchShape shape;

  template <typename... Arguments>
  void operator()(Arguments&&... arguments) const {
    static_cast<void>(launch_callable(name, nullptr, shape, place, call, std::forward<Arguments>(arguments)...));
  }
};

/// For `kernel<<<grid, block, shared_bytes, stream>>>` if the kernel's name means a single function.
template <typename... Parameters>
FunctionLaunch<Parameters...> launch_function(SourcePlace place, const char* name, void (*kernel)(Parameters...),
                                              dim3 grid, dim3 block, std::size_t shared_bytes = 0,
                                              cudaStream_t stream = nullptr) {
  return {place, name, kernel, {grid, block, shared_bytes, stream, false}};
}

/// The same if only the call determines the function.
template <typename Call>
CallLaunch<Call> launch_call(SourcePlace place, const char* name, Call call, dim3 grid, dim3 block,
                             std::size_t shared_bytes = 0, cudaStream_t stream = nullptr) {
  return {place, name, std::move(call), {grid, block, shared_bytes, stream, false}};
}

}  // namespace lockstep::emulator
