#pragma once
/// @file
/// Given: online_softmax() of exercise 04.6 as its callers see it.
#include <cuda_runtime.h>

#include "exercise/todo.hpp"

namespace lockstep::kernels {

/// The softmax of each row: out[row, i] = exp(in[row, i]) / (sum over j of exp(in[row, j])). Returns when the kernel is
/// launched, not when it has ended.
///
/// @param out      Device memory, [rows, columns]; row after row without gaps.
/// @param in       Device memory, [rows, columns]. Numbers of any size. Minus infinity marks a masked element, whose
///                 softmax is 0; each row has at least one element that is not masked.
/// @param rows     1 or more.
/// @param columns  1 or more.
/// @param stream   The queue of work in which the kernel runs.
/// @cost  12 bytes per element: two reads and one write. The second read can often be served by a cache.
/// @source Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 3.
void online_softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream);

}  // namespace lockstep::kernels
