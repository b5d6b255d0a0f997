#pragma once
/// @file
/// Given: causal self-attention of exercise 05.4, with the names and the memory layout of
/// common/train/kernels/attention.hpp.
///
/// Letters: B samples, T positions, C channels, H heads, D = C / H channels of one head.
#include <cstddef>
#include <numeric>
#include <span>

#include "exercise/todo.hpp"

namespace lockstep::kernels {

/// T rows of D numbers inside an array in which each position has more numbers than these. Number is float or const
/// float.
template <typename Number>
class HeadRows {
 public:
  /// @param first  Of the first row. @param stride  From one row to the next, in numbers.
  HeadRows(Number* first, std::size_t stride, std::size_t length, std::size_t head_size)
      : first_(first), stride_(stride), length_(length), head_size_(head_size) {}

  [[nodiscard]] std::size_t length() const noexcept { return length_; }        ///< T.
  [[nodiscard]] std::size_t head_size() const noexcept { return head_size_; }  ///< D.
  /// The numbers of one position, [D].
  [[nodiscard]] std::span<Number> row(std::size_t position) const { return {first_ + position * stride_, head_size_}; }

 private:
  Number* first_;
  std::size_t stride_, length_, head_size_;
};

/// Queries, keys and values of one head, or their gradients.
template <typename Number>
struct HeadInputs {
  HeadRows<Number> query, key, value;  ///< [T, D] each.
};

/// a . b, the sum of the products. Both have the same length.
[[nodiscard]] inline float dot(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0F);
}

/// to += factor * values, number by number. Both have the same length.
inline void add_scaled(std::span<float> to, float factor, std::span<const float> values) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * values[i];
}

/// Attention of one head of one sample. Position i looks at positions j <= i:
///
///     score[i, j]       = (query[i] . key[j]) / sqrt(D)
///     probability[i, j] = exp(score[i, j]) / (sum of exp(score[i, k]) over k <= i)
///     out[i]            = sum of probability[i, j] * value[j] over j <= i
///
/// @param out          [T, D], overwritten.
/// @param log_sum_exp  [T], written: the logarithm of the sum of exp(score[i, k]). Finite even if a score is so large
///                     that its exponential is not.
/// @param in           T is at least 1.
void head_forward(const HeadRows<float>& out, std::span<float> log_sum_exp, const HeadInputs<const float>& in);

/// The gradients of query, key and value from the gradient of `out`.
///
/// @param gradient      [T, D] each, overwritten.
/// @param out_gradient  [T, D].
/// @param out           [T, D], from head_forward().
/// @param log_sum_exp   [T], from head_forward().
/// @param in            As for head_forward().
void head_backward(const HeadInputs<float>& gradient, const HeadRows<const float>& out_gradient,
                   const HeadRows<const float>& out, std::span<const float> log_sum_exp,
                   const HeadInputs<const float>& in);

/// B, T, C and H of a batch.
struct AttentionShape {
  std::size_t samples, length, channels, heads;

  [[nodiscard]] std::size_t head_size() const noexcept { return channels / heads; }  ///< D; H divides C.

  /// Head `head` of sample `sample` in an array [B, T, C].
  template <typename Number>
  [[nodiscard]] HeadRows<Number> rows(std::span<Number> values, std::size_t sample, std::size_t head) const {
    return {values.data() + sample * length * channels + head * head_size(), channels, length, head_size()};
  }
  /// The same in an array [B, T, 3C] with queries, keys and values side by side.
  template <typename Number>
  [[nodiscard]] HeadInputs<Number> inputs(std::span<Number> qkv, std::size_t sample, std::size_t head) const {
    const auto part = [&](std::size_t number) {
      Number* const first = qkv.data() + sample * length * 3 * channels + number * channels + head * head_size();
      return HeadRows<Number>(first, 3 * channels, length, head_size());
    };
    return {part(0), part(1), part(2)};
  }
  /// Of an array [B, H, T].
  template <typename Number>
  [[nodiscard]] std::span<Number> of_head(std::span<Number> values, std::size_t sample, std::size_t head) const {
    return values.subspan((sample * heads + head) * length, length);
  }
};

/// All heads of all samples, as the kernel of this name. @param out  [B, T, C]. @param log_sum_exp  [B, H, T].
/// @param qkv  [B, T, 3C].
inline void causal_attention_forward(std::span<float> out, std::span<float> log_sum_exp, std::span<const float> qkv,
                                     const AttentionShape& shape) {
  for (std::size_t b = 0; b < shape.samples; ++b)
    for (std::size_t h = 0; h < shape.heads; ++h)
      head_forward(shape.rows(out, b, h), shape.of_head(log_sum_exp, b, h), shape.inputs(qkv, b, h));
}

/// All heads of all samples, as the kernel of this name. @param qkv_gradient  [B, T, 3C], overwritten.
/// @param out_gradient, out  [B, T, C]. @param log_sum_exp  [B, H, T]. @param qkv  [B, T, 3C].
inline void causal_attention_backward(std::span<float> qkv_gradient, std::span<const float> out_gradient,
                                      std::span<const float> out, std::span<const float> log_sum_exp,
                                      std::span<const float> qkv, const AttentionShape& shape) {
  for (std::size_t b = 0; b < shape.samples; ++b)
    for (std::size_t h = 0; h < shape.heads; ++h)
      head_backward(shape.inputs(qkv_gradient, b, h), shape.rows(out_gradient, b, h), shape.rows(out, b, h),
                    shape.of_head(log_sum_exp, b, h), shape.inputs(qkv, b, h));
}

}  // namespace lockstep::kernels
