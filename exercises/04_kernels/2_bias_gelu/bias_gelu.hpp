#pragma once
/// @file
/// Given: bias_gelu() of exercise 04.2 as its callers see it.
#include <cuda_runtime.h>

#include "exercise/todo.hpp"

namespace lockstep::kernels {

/// out = GELU(in + bias), where the same bias is added to each row: what follows the first matrix product of a
/// transformer's feed-forward layer. Returns when the kernel is launched, not when it has ended.
///
/// @param out      Device memory, [rows, columns], 16-byte aligned; row after row without gaps.
/// @param in       Device memory, [rows, columns], 16-byte aligned.
/// @param bias     Device memory, [columns], 16-byte aligned.
/// @param rows     1 or more.
/// @param columns  A multiple of 4, at least 4.
/// @param blocks   How many blocks to launch, 1 or more, whatever the size of the matrix.
/// @param stream   The queue of work in which the kernel runs.
/// @cost  12 bytes per element, of which the caches serve the 4 of the bias: one read and one write.
void bias_gelu(float* out, const float* in, const float* bias, int rows, int columns, int blocks, cudaStream_t stream);

}  // namespace lockstep::kernels
