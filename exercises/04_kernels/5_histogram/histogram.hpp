#pragma once
/// @file
/// Given: histogram() of exercise 04.5 as its callers see it.
#include <cuda_runtime.h>

#include "exercise/todo.hpp"

namespace lockstep::kernels {

/// Counts how often each byte value occurs: the first step of learning a tokenizer from a text. Returns when the kernel
/// is launched, not when it has ended.
///
/// @param counts  Device memory, [256]: element b becomes the number of bytes with value b. The previous content is
/// replaced.
/// @param bytes   Device memory, [count].
/// @param count   Bytes; 0 or more.
/// @param blocks  How many blocks to launch, 1 or more.
/// @param stream  The queue of work in which the kernel runs.
/// @cost  1 byte of reads per byte; at most 256 atomic additions to device memory per block, however long the text is.
void histogram(unsigned* counts, const unsigned char* bytes, int count, int blocks, cudaStream_t stream);

}  // namespace lockstep::kernels
