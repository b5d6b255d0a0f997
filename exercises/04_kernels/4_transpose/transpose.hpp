#pragma once
/// @file
/// Given: transpose() of exercise 04.4 as its callers see it.
#include <cuda_runtime.h>

#include "exercise/todo.hpp"

namespace lockstep::kernels {

/// out[column, row] = in[row, column]. Returns when the kernel is launched, not when it has ended.
///
/// @param out      Device memory, [columns, rows]; row after row without gaps. Not the same memory as `in`.
/// @param in       Device memory, [rows, columns].
/// @param rows     Of `in`; 1 or more.
/// @param columns  Of `in`; 1 or more.
/// @param stream   The queue of work in which the kernel runs.
/// @cost  8 bytes per element: one read and one write, in full sectors.
void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream);

}  // namespace lockstep::kernels
