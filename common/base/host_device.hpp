#pragma once
/// @file
/// A mark for the few functions that host and device code share.

/// Marks a function that kernels may call too. Always inlined: otherwise a file of instrumented device code would leave
/// a copy of the function that the linker may choose for all callers.
#ifdef __CUDACC__
#define LOCKSTEP_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define LOCKSTEP_HOST_DEVICE [[gnu::always_inline]] inline
#endif
