#pragma once
/// @file
/// CUDA's function and variable qualifiers, defined for the host compiler.
#include <cstdint>
#include <memory>  // libstdc++ 12 spells an attribute __noinline__ there, which is defined below

#include "export.h"

// Kernels and device functions are ordinary functions here.
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
#define __managed__

// One block runs at a time, so a block's shared memory is a static variable. Device variables and constants are not
// marked: static variables inside functions are shared memory, all others are not.
#define __shared__ static
#define __constant__ static

// The maximum number of threads per block, looked up at launch: the kernel's entry is preceded by as many nops, and the
// compiler lists their start addresses (launch_bounds.cpp reads it). They never run. clang accepts no template
// parameter here, so the bound is not checked under clang.
#if defined(__clang__)
#define __launch_bounds__(...)
#else
#define __launch_bounds__(max_threads, ...) __attribute__((patchable_function_entry((max_threads), (max_threads))))

extern "C" {
/// Begin and end of this image's list; null without any bound.
extern const std::uintptr_t __start___patchable_function_entries[] __attribute__((weak, visibility("hidden")));
extern const std::uintptr_t __stop___patchable_function_entries[] __attribute__((weak, visibility("hidden")));
}

namespace lockstep::emulator {
/// Registers an image's list of bounds with the engine. Repeated calls have no effect.
LOCKSTEP_EMULATOR_API bool register_launch_bounds(const std::uintptr_t* begin, const std::uintptr_t* end);

namespace {
[[maybe_unused]] const bool kHasRegisteredLaunchBounds =
    register_launch_bounds(__start___patchable_function_entries, __stop___patchable_function_entries);
}
}  // namespace lockstep::emulator
#endif
