#pragma once
/// @file
/// Given: axpy() of exercise 04.1 as its callers see it.
#include <cuda_runtime.h>

#include "exercise/todo.hpp"

namespace lockstep::kernels {

/// y = a x + y ("a x plus y"), element by element: how an optimizer without moments takes its step, with a = -learning
/// rate. Returns when the kernel is launched, not when it has ended.
///
/// @param y       Device memory, [count], in place.
/// @param a       What x is multiplied by.
/// @param x       Device memory, [count].
/// @param count   Elements; 0 or more. With 0 nothing is launched.
/// @param stream  The queue of work in which the kernel runs.
/// @cost  12 bytes per element: two reads and one write.
void axpy(float* y, float a, const float* x, int count, cudaStream_t stream);

}  // namespace lockstep::kernels
