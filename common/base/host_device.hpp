#pragma once
/// @file
/// A mark for the few functions that host and device code share.

/// Marks a function that kernels may call too. Always inlined: otherwise a source with instrumented device code would
/// emit an instrumented copy of the function, and the linker might choose that copy for every caller.
#ifdef __CUDACC__
#define LOCKSTEP_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define LOCKSTEP_HOST_DEVICE [[gnu::always_inline]] inline
#endif
