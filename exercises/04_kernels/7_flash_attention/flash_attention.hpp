#pragma once
/// @file
/// Given: flash_attention() of exercise 04.7 as its callers see it.
#include <cuda_runtime.h>

#include "exercise/todo.hpp"

namespace lockstep::kernels {

/// Numbers per position and head.
inline constexpr int kHeadWidth = 64;

/// Causal attention. In each head, the result of a position is a weighted mean of the values of all positions up to and
/// including its own. The weights are the softmax of its scores: score = (its query . the other one's key) / 8, where 8
/// is the square root of kHeadWidth. Returns when the kernel is launched, not when it has ended.
///
/// @param out        Device memory, [heads, positions, 64]; position after position without gaps.
/// @param q          Queries: device memory, [heads, positions, 64].
/// @param k          Keys: as q.
/// @param v          Values: as q.
/// @param heads      Of all samples together; 1 or more.
/// @param positions  1 or more.
/// @param stream     The queue of work in which the kernel runs.
/// @cost  Each block of 64 queries reads the keys and values up to its last query once. No scores are stored.
/// @source Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", NeurIPS 2022.
void flash_attention(float* out, const float* q, const float* k, const float* v, int heads, int positions,
                     cudaStream_t stream);

}  // namespace lockstep::kernels
