#pragma once
/// @file
/// Given: what exercise 04.3 computes with block_sum(), as its callers see it.
#include <cuda_runtime.h>

#include "exercise/todo.hpp"

namespace lockstep::kernels {

/// Mean and variance of each row: the first half of layer norm. Returns when the kernel is launched, not when it has
/// ended.
///
/// @param mean      Device memory, [rows].
/// @param variance  Device memory, [rows]: the mean of (x - mean)^2 over the row.
/// @param in        Device memory, [rows, columns]; row after row without gaps.
/// @param rows      1 or more; each gets a block.
/// @param columns   1 or more.
/// @param threads   Per block: a multiple of 32, from 32 to 1024, whatever the number of columns.
/// @param stream    The queue of work in which the kernel runs.
/// @cost  8 bytes of reads per element, half of which a cache can serve: each row is read twice.
void row_moments(float* mean, float* variance, const float* in, int rows, int columns, int threads,
                 cudaStream_t stream);

}  // namespace lockstep::kernels
