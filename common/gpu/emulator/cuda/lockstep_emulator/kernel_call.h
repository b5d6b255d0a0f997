#pragma once
/// @file
/// One launch of a kernel, as the engine and the runtime pass it on.
#include <cstddef>
#include <functional>
#include <memory>

#include "../driver_types.h"
#include "../vector_types.h"
#include "export.h"
#include "source_place.h"

namespace lockstep::emulator {

/// What a launch enqueues. Owns copies of the kernel's arguments (inside `body`).
struct KernelCall {
  const char* name = nullptr;      ///< As the source spells it; null where the launch does not know.
  const void* function = nullptr;  ///< Identifies the kernel: attributes, launch bounds, its name in debug information.
  SourcePlace place;               ///< Of the launch.
  dim3 grid;                       ///< Blocks.
  dim3 block;                      ///< Threads of a block.
  std::size_t shared_bytes = 0;    ///< Dynamic shared memory of a block.
  std::function<void()> body;  ///< Calls the kernel with its arguments: run once per thread, on that thread's fiber.
  const void* arguments = nullptr;    ///< Where the launch keeps the kernel's parameters: threads may read them.
  std::size_t argument_bytes = 0;     ///< Of `arguments`.
  std::shared_ptr<const void> owner;  ///< Keeps `arguments` while the call lives.
};

}  // namespace lockstep::emulator
