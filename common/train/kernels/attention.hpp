#pragma once
/// @file
/// Causal self-attention. Common rules: kernels/ops.hpp.
/// @source Dao, "FlashAttention-2", ICLR 2024: tiles with a running softmax, log-sum-exp kept for the backward pass.
#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// For each sample and head: out = softmax(q k^T / sqrt(D), causal) v, D = C / H, read directly from the packed
/// projection. Scores exist only in tiles; no [T, T] matrix is stored.
///
/// @param out          [B, T, C].
/// @param log_sum_exp  [B, H, T], written: the logarithm of each row's softmax denominator.
/// @param qkv          [B, T, 3C]: q, k and v side by side, head h in columns [h D, (h + 1) D) of each.
/// @param heads        H; divides C.
/// @param dropout      Of the probabilities, after the softmax; element (h T + i) T + j of a sample.
/// @cost 2 B T^2 C flops (the causal half is skipped).
void causal_attention_forward(const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv, int heads,
                              const DropoutMask& dropout = {});

/// The gradient of causal_attention_forward; probabilities are recomputed from log_sum_exp.
///
/// @param qkv_gradient  [B, T, 3C], overwritten.
/// @param out_gradient  [B, T, C].
/// @param out           [B, T, C], from the forward call.
/// @param log_sum_exp   [B, H, T], from the forward call.
/// @param qkv           [B, T, 3C], as in the forward call.
/// @param heads         As in the forward call.
/// @param dropout       As in the forward call.
/// @cost 5 B T^2 C flops.
void causal_attention_backward(const Tensor& qkv_gradient, const Tensor& out_gradient, const Tensor& out,
                               const Tensor& log_sum_exp, const Tensor& qkv, int heads,
                               const DropoutMask& dropout = {});

/// Causal attention of N new positions after `past` earlier ones, whose keys and values are cached: a model that
/// generates text needs it for each token, instead of recomputing the whole text. Appends the new keys and values. On
/// the CPU only.
///
/// @param out     [B, N, C].
/// @param keys    [B, H, T, D], the first `past` positions filled; the next N are written. float32 for bfloat16 `qkv`.
/// @param values  As `keys`.
/// @param qkv     [B, N, 3C] of the new positions, as for causal_attention_forward.
/// @param heads   H; divides C.
/// @param past    At most T - N. With 0 the result is that of causal_attention_forward bit for bit.
/// @throws ContractError  Besides the common rules: `qkv` is on a device.
/// @cost 4 B N (past + N / 2) C flops; reads the keys and values of past + N positions once per new one.
void cached_attention_forward(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& qkv, int heads,
                              std::int64_t past);

}  // namespace lockstep::kernels
