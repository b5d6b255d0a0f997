#pragma once
/// @file
/// One launch of a kernel, passed between the engine and the runtime.
#include <cstddef>
#include <functional>
#include <memory>

#include "../driver_types.h"
#include "../vector_types.h"
#include "export.h"
#include "source_place.h"

namespace lockstep::emulator {

/// A kernel launch. Owns copies of the kernel's arguments (inside `body`).
struct KernelCall {
  const char* name = nullptr;  ///< As written in the source; null if unknown.
  const void* function =
      nullptr;        ///< Identifies the kernel for attributes, launch bounds and its name in debug information.
  SourcePlace place;  ///< Of the launch.
  dim3 grid;          ///< Blocks.
  dim3 block;         ///< Threads of a block.
  std::size_t shared_bytes = 0;  ///< Bytes of dynamic shared memory per block.
  bool is_cooperative = false;   ///< Its blocks may wait for one another (cudaLaunchCooperativeKernel).
  std::function<void()> body;    ///< Calls the kernel with its arguments; run once per thread, on that thread's fiber.
  const void* arguments = nullptr;    ///< The kernel's parameters, which threads may read.
  std::size_t argument_bytes = 0;     ///< Of `arguments`.
  std::shared_ptr<const void> owner;  ///< Keeps `arguments` while the call lives.
};

}  // namespace lockstep::emulator
