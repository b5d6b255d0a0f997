#pragma once
/// @file
/// What kernels should have computed, by device kernels that are too simple to be wrong in the same way: a thread for
/// each element, a loop over its terms, all in double precision. For sizes that a CPU does not get through. Everything
/// is compared where it lies; what comes back is the worst |value - expected| / max(floor, |expected|), infinity if
/// one of them is not a number. Each function waits for the device.
#include <cstdint>

#include "base/dtype.hpp"

namespace lockstep::kernels::testing::reference {
#ifdef LOCKSTEP_KERNEL_NAMESPACE
inline namespace LOCKSTEP_KERNEL_NAMESPACE {
#else
inline namespace plain {
#endif

/// A matrix in device memory, row after row: float32, bfloat16 or int32.
struct View {
  void* data = nullptr;           ///< Null: none.
  std::int64_t rows = 0;          ///< R.
  std::int64_t columns = 0;       ///< C.
  DType dtype = DType::kFloat32;  ///< Of each element.
};

/// Elements in [-scale, scale), different for each key.
void fill_random(const View& values, std::uint64_t key, double scale = 1.0);
/// int32 in [0, bound).
void fill_random_ids(const View& ids, std::int64_t bound, std::uint64_t key);
/// to = from, element by element, whatever their types.
void copy(const View& to, const View& from);

/// One factor of a product, as it is or transposed.
struct Factor {
  View matrix;
  bool is_transposed = false;
};
/// result = a b + bias + before; the last two may be none.
[[nodiscard]] double product_error(const View& result, const Factor& a, const Factor& b, const View& bias,
                                   const View& before, double floor);
/// result[c] = sum over rows of values[r, c].
[[nodiscard]] double column_sum_error(const View& result, const View& values, double floor);
/// result = the tanh form of GELU of `input`, or with `gradient` its derivative times that.
[[nodiscard]] double gelu_error(const View& result, const View& input, const View& gradient, double floor);

/// Layer normalization of rows [R, C] and its gradients.
struct LayerNorm {
  View input, gain, bias, out_gradient;                    // what is given
  View out, input_gradient, gain_gradient, bias_gradient;  // what is to be checked
  double epsilon;
};
struct LayerNormErrors {
  double out, input_gradient, gain_gradient, bias_gradient;
};
/// @param sum_floor  For gain and bias, whose gradients are sums over R rows.
[[nodiscard]] LayerNormErrors layer_norm_errors(const LayerNorm& layer, double floor, double sum_floor);

/// Causal attention of B samples with H heads: qkv and its gradient [B T, 3C], out and its gradient [B T, C].
struct Attention {
  View qkv, out_gradient;  // what is given
  View out, qkv_gradient;  // what is to be checked
  std::int64_t samples, heads;
};
struct AttentionErrors {
  double out, qkv_gradient;
};
/// Keeps two matrices [B H, T, T] in double precision.
[[nodiscard]] AttentionErrors attention_errors(const Attention& attention, double floor);

/// Softmax and cross entropy of logits [R, V].
struct CrossEntropyErrors {
  double losses, gradient;
};
/// @param gradient  [R, V]: softmax less one-hot. @param floor  Of the gradient; the losses' is 1.
[[nodiscard]] CrossEntropyErrors cross_entropy_errors(const View& losses, const View& gradient, const View& logits,
                                                      const View& targets, double floor);

/// result[b T + t] = token_table[tokens[b T + t]] + position_table[t].
[[nodiscard]] double embedding_error(const View& result, const View& tokens, const View& token_table,
                                     const View& position_table, double floor);
/// result[v] = sum of out_gradient over the rows whose token is v.
[[nodiscard]] double token_gradient_error(const View& result, const View& tokens, const View& out_gradient,
                                          double floor);
/// The sum of squares.
[[nodiscard]] double squared_norm(const View& values);
}
}  // namespace lockstep::kernels::testing::reference
