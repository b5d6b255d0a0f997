#pragma once
/// @file
/// The differentiable operations. Shapes: B batch, T positions, C channels, H heads, V vocabulary; "..." are leading
/// dimensions that are kept. Values are float32, or float64 for gradient checks; all of one call have one dtype. Under
/// Autocast (autograd/autocast.hpp) activations are bfloat16 or float16; norm parameters, biases and losses stay
/// float32. Variables of one call are on one device; tokens and targets may be in host memory, and losses always are.
/// Wrong shapes and types are ContractErrors. A variable that is passed by value and moved in lends its memory to the
/// result if nobody else holds it.
#include <cstdint>

#include "autograd/variable.hpp"
#include "kernels/types.hpp"

namespace lockstep::autograd {

/// input W^T + bias. @param input [..., in], @param weight [out, in] as torch.nn.Linear, @param bias [out] or
/// undefined.
[[nodiscard]] Variable linear(const Variable& input, const Variable& weight, const Variable& bias);

/// input W + bias. @param input [..., in], @param weight [in, out] as GPT-2's Conv1D, @param bias [out] or undefined.
[[nodiscard]] Variable conv1d(const Variable& input, const Variable& weight, const Variable& bias);

/// conv1d(gelu(input), weight, bias), the second half of an MLP. Does not keep gelu(input) for backward, which computes
/// it again together with the derivative, from the same exponentials.
[[nodiscard]] Variable gelu_conv1d(const Variable& input, const Variable& weight, const Variable& bias);

/// Element-wise sum; bfloat16 or float16 and float32 give float32. Compatible shapes are broadcast
/// (kernels::broadcast_view()).
[[nodiscard]] Variable add(Variable a, const Variable& b);

/// max(input, 0); the derivative at 0 is 0.
[[nodiscard]] Variable relu(Variable input);

/// GELU in the tanh form of GPT-2. @source Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2.
[[nodiscard]] Variable gelu(const Variable& input);

/// (input - mean) / sqrt(variance + epsilon) * weight + bias over the last dimension.
/// @param input [..., C], @param weight [C], @param bias [C].
/// @source Ba, Kiros and Hinton, "Layer Normalization", 2016.
[[nodiscard]] Variable layer_norm(const Variable& input, const Variable& weight, const Variable& bias, double epsilon);

/// The results of add_layer_norm().
struct ResidualNorm {
  Variable sum;         ///< input + branch
  Variable normalized;  ///< layer_norm(sum)
};
/// add, then layer_norm, in one pass over memory. @param branch  Same shape as input.
[[nodiscard]] ResidualNorm add_layer_norm(const Variable& input, Variable branch, const Variable& weight,
                                          const Variable& bias, double epsilon);

/// token_table[tokens] + position_table[position].
/// @param tokens          [B, T] int32. @throws ContractError  A token is outside the table.
/// @param token_table     [V, C].
/// @param position_table  [at least T, C]; undefined: nothing is added, as in torch.nn.functional.embedding.
/// @return                [B, T, C].
[[nodiscard]] Variable embedding(const Tensor& tokens, const Variable& token_table, const Variable& position_table);

/// Causal multi-head attention with 1/sqrt(C/H) scaling; never holds a T x T tensor per head.
/// @param qkv      [B, T, 3C]: queries, keys, values side by side, each H heads of C/H channels.
/// @param dropout  Of the probabilities; sample ids are copied.
/// @return         [B, T, C].
[[nodiscard]] Variable attention(const Variable& qkv, std::int64_t head_count,
                                 const kernels::DropoutMask& dropout = {});

/// Drops elements; backward draws the mask again instead of storing it. An inactive mask changes nothing.
/// @param input  [B, ...]. @param mask  With a kernels::dropout_key() of its own in each step and layer, and B sample
///               ids, copied: data::Batch::sample_ids.
[[nodiscard]] Variable dropout(Variable input, const kernels::DropoutMask& mask);

/// Mean squared error over all elements. @return  One element.
/// @param prediction, target  Same shape, but for dimensions of size 1: [B, 1] fits [B]; nothing is broadcast.
[[nodiscard]] Variable mse_loss(const Variable& prediction, const Tensor& target);

/// The number of `targets` that a mean loss averages over: int32 targets that are not ignored (-100), else all
/// elements. Use it to weight the means of parts of a batch.
[[nodiscard]] std::int64_t target_count(const Tensor& targets);

/// Mean of -log softmax(logits)[target] over the rows whose target is not -100 (PyTorch's ignore_index); 0 if there is
/// none, so that such a part of a batch adds nothing (PyTorch gives NaN).
/// @param logits   [..., V].
/// @param targets  [...] int32, one per row; flat, if not of the logits' shape. @throws ContractError  A target is
///                 neither in [0, V) nor -100.
/// @return         One element.
[[nodiscard]] Variable cross_entropy(Variable logits, const Tensor& targets);

/// cross_entropy(linear(hidden, table), targets). Logits of more than 128 MiB are never all in memory: they are
/// computed, used and dropped some rows at a time, so forward computes the gradients too.
/// @param hidden  [..., C], @param table [V, C], @param targets [...] int32.
[[nodiscard]] Variable head_cross_entropy(const Variable& hidden, const Variable& table, const Tensor& targets);

}  // namespace lockstep::autograd
