#pragma once
/// @file
/// Single instructions of the special function unit, the same under nvcc (PTX) and on the emulator.
/// @source NVIDIA, Parallel Thread Execution ISA 8.x, "Floating Point Instructions: ex2".
#include <cuda_runtime.h>

namespace lockstep::device {

/// 2^x to about two units in the last place. exp2f takes four instructions, because it also returns denormal numbers;
/// this one returns 0 for x below -126.
__device__ __forceinline__ float exp2_approximate(float x) {
#if defined(__CUDACC__)
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(power) : "f"(x));
  return power;
#else
  return x < -126.0F ? 0.0F : exp2f(x);
#endif
}

}  // namespace lockstep::device
