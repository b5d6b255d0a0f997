#pragma once
/// @file
/// Losses, each fused with its gradient. Common rules: kernels/ops.hpp.
#include <cstdint>

#include "kernels/types.hpp"
#include "kernels/vocabulary_part.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// A target to ignore: loss 0, gradient 0 (PyTorch's default ignore_index).
inline constexpr std::int32_t kIgnoredTarget = -100;

/// losses[r] = log(sum exp(logits[r])) - logits[r, targets[r]], and `logits` replaced by their gradient
/// gradient_scale * (softmax(logits[r]) - onehot(targets[r])).
///
/// @param losses          [R], not scaled; 0 for ignored rows.
/// @param logits          [..., V], in: logits, out: gradient.
/// @param targets         [R] int32, in [0, V) or kIgnoredTarget.
/// @param gradient_scale  dLoss/dlosses[r], for example 1 / number of targets.
/// @throws ContractError  A target out of range; names it and its row.
void softmax_cross_entropy(const Tensor& losses, const Tensor& logits, const Tensor& targets, double gradient_scale);

/// Like softmax_cross_entropy without the gradient: `logits` stay unchanged (evaluation).
void cross_entropy_loss(const Tensor& losses, const Tensor& logits, const Tensor& targets);

/// Three numbers of each row, from the columns of the logits that a rank has: its largest logit, the sum of e^(logit -
/// largest), and the logit of the target, or 0 if another rank has that column. Put together they give the loss of the
/// whole row: log(sum) + largest - logit of the target.
///
/// @param statistics  [R, 3]; zeros for ignored rows.
/// @param logits      [..., columns].
/// @param targets     [R] int32, in the whole vocabulary or kIgnoredTarget.
/// @param part        Which columns they are.
/// @throws ContractError  A target out of range; names it and its row.
void cross_entropy_statistics(const Tensor& statistics, const Tensor& logits, const Tensor& targets,
                              const VocabularyPart& part);

/// Replaces `logits` by their gradient gradient_scale * (softmax(row) - onehot(target)), of the columns that they are.
///
/// @param logits          [..., columns], in: logits, out: gradient; zeros in ignored rows.
/// @param statistics      [R, 3], of the whole rows: only largest logit and sum are read.
/// @param targets, part   As in cross_entropy_statistics().
/// @param gradient_scale  As in softmax_cross_entropy().
void cross_entropy_gradient(const Tensor& logits, const Tensor& statistics, const Tensor& targets,
                            const VocabularyPart& part, double gradient_scale);

/// The number of rows whose logits linear_cross_entropy() holds at a time. All of them if they are small; else chunks
/// of equal size, as few as fit into eight times the bytes of its input, which is less than a single transformer block
/// keeps for backward. Smaller chunks would be slower, as each reads the whole weight and its gradient. Never less than
/// 16 MiB or 64 rows, and more than 128 MiB only for the minimum of 64 rows. On a GPU, whose products need thousands of
/// rows to fill it, sixteen times the input's bytes, 512 MiB to 2 GiB.
/// @param rows        R, of the input. @param channels  C. @param vocabulary  V.
/// @param dtype       Of input and logits.
/// @param device      Where they are.
/// @return At most `rows`; all of them, or a multiple of 64.
[[nodiscard]] std::int64_t rows_of_logits(std::int64_t rows, std::int64_t channels, std::int64_t vocabulary,
                                          DType dtype, DeviceType device = DeviceType::kCpu) noexcept;

/// A language model's head and loss without the [R, V] logits: computes logits = input weight^T for some rows at a
/// time, their softmax_cross_entropy, and both gradients while they are in cache.
///
/// @param losses           [R].
/// @param input_gradient   [..., C], overwritten; undefined if no gradient is needed (evaluation).
/// @param weight_gradient  [V, C], written according to `weight_write`; undefined like input_gradient.
/// @param input            [..., C].
/// @param weight           [V, C]: the token table of a tied head.
/// @param targets          [R] int32, as in softmax_cross_entropy.
/// @param gradient_scale   As in softmax_cross_entropy.
/// @cost 6 R V C flops with gradients, 2 R V C without; scratch for the logits of rows_of_logits() rows.
void linear_cross_entropy(const Tensor& losses, const Tensor& input_gradient, const Tensor& weight_gradient,
                          Write weight_write, const Tensor& input, const Tensor& weight, const Tensor& targets,
                          double gradient_scale);

/// The sum of all elements in double precision; does not depend on the number of threads.
[[nodiscard]] double sum(const Tensor& values);

/// The mean of (prediction - target)^2 over all elements, 0 if there are none, and its gradient.
///
/// @param prediction_gradient  As `prediction`: gradient_scale * 2 (prediction - target) / count; undefined for none.
/// @param prediction           Any shape.
/// @param target               As `prediction`.
/// @param gradient_scale       The gradient that reaches the mean.
[[nodiscard]] double mean_squared_error(const Tensor& prediction_gradient, const Tensor& prediction,
                                        const Tensor& target, double gradient_scale = 1.0);

}  // namespace lockstep::kernels
