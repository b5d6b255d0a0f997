#pragma once
/// @file
/// CUDA's words for where a function runs and where a variable lives, as the host compiler understands them.
#include <cstdint>
#include <memory>  // libstdc++ 12 spells an attribute __noinline__ there, which is defined below

#include "export.h"

// A kernel and what it calls are ordinary functions here.
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
#define __managed__

// One block runs at a time, so a block's shared memory is a static variable. Device variables and constants are not
// marked: what a kernel declares inside itself as static is shared memory, and nothing else is.
#define __shared__ static
#define __constant__ static

// The most threads per block, found again at launch: the kernel's entry is preceded by as many instructions that do
// nothing, and the compiler lists where they begin (launch_bounds.cpp reads it). They never run.
// clang takes no template parameter here; under clang the bound is not checked.
#if defined(__clang__)
#define __launch_bounds__(...)
#else
#define __launch_bounds__(max_threads, ...) __attribute__((patchable_function_entry((max_threads), (max_threads))))

extern "C" {
/// Where this image's list begins and ends; null without any bound.
extern const std::uintptr_t __start___patchable_function_entries[] __attribute__((weak, visibility("hidden")));
extern const std::uintptr_t __stop___patchable_function_entries[] __attribute__((weak, visibility("hidden")));
}

namespace lockstep::emulator {
/// Hands an image's list of bounds to the engine. Repeated calls change nothing.
LOCKSTEP_EMULATOR_API bool register_launch_bounds(const std::uintptr_t* begin, const std::uintptr_t* end);

namespace {
[[maybe_unused]] const bool kHasRegisteredLaunchBounds =
    register_launch_bounds(__start___patchable_function_entries, __stop___patchable_function_entries);
}
}  // namespace lockstep::emulator
#endif
