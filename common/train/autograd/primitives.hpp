#pragma once
/// @file
/// The operations for writing attention and a LLaMA-style block by hand; GPT-2's are fused (autograd/functions.hpp).
/// Names and meaning are PyTorch's unless stated otherwise. Rules for types and devices: autograd/functions.hpp.
/// bfloat16 is computed in float32 and rounded when it is stored. Negative axes count from the end.
#include <cstdint>
#include <span>

#include "autograd/variable.hpp"

namespace lockstep::autograd {

/// The same elements in another shape; shares memory. @throws ContractError  The counts differ.
[[nodiscard]] Variable reshape(const Variable& input, const Shape& shape);

/// Exchanges two dimensions, as a copy.
[[nodiscard]] Variable transpose(const Variable& input, int axis0, int axis1);

/// Elements [begin, begin + length) of dimension `axis`: PyTorch's narrow(), Python's slice. A view if `axis` is the
/// first dimension, else a copy.
/// @throws ContractError  There is no such axis or range.
[[nodiscard]] Variable narrow(const Variable& input, int axis, std::int64_t begin, std::int64_t length);

/// Concatenates the inputs along dimension `axis`; their other dimensions must be equal.
/// @throws ContractError  No input, or shapes that do not fit.
[[nodiscard]] Variable cat(std::span<const Variable> inputs, int axis);

/// The products of the last two dimensions, [..., M, K] times [..., K, N]. Leading dimensions must be equal, or `b` is
/// one matrix [K, N] for all. Under Autocast the operands are rounded to its type.
/// @cost  2 M N K flops for each product.
[[nodiscard]] Variable matmul(const Variable& a, const Variable& b);

/// Element-wise product of two compatible shapes (kernels::broadcast_view()); bfloat16 and float32 give float32. The
/// element-wise sum is add() in autograd/functions.hpp.
[[nodiscard]] Variable mul(const Variable& a, const Variable& b);

[[nodiscard]] Variable mul(Variable input, double factor);

/// e^input.
[[nodiscard]] Variable exp(Variable input);

/// The sum of all elements: one element, in host memory like losses.
[[nodiscard]] Variable sum(const Variable& input);

/// Whether the summed dimension is removed, or stays with size 1 (PyTorch's keepdim).
enum class KeepAxis { kNo, kYes };

/// The sum over dimension `axis`.
[[nodiscard]] Variable sum(const Variable& input, int axis, KeepAxis keep = KeepAxis::kNo);

/// sum(input) divided by the number of elements. @throws ContractError  There are no elements.
[[nodiscard]] Variable mean(const Variable& input);

/// sum(input, axis) divided by the size of that dimension. @throws ContractError  It is 0.
[[nodiscard]] Variable mean(const Variable& input, int axis, KeepAxis keep = KeepAxis::kNo);

/// e^input / sum of e^input over the last dimension. To mask an element, add -infinity first: its probability is 0.
[[nodiscard]] Variable softmax(const Variable& input);

/// 1 / (1 + e^-input). Float32: error below 2e-7. NaN for infinity, in tanh() too.
/// @cost  A dozen passes over memory, also for tanh(). relu(), silu() and gelu() have kernels of their own.
[[nodiscard]] Variable sigmoid(const Variable& input);

/// (e^input - e^-input) / (e^input + e^-input). Float32: error below 3e-7.
[[nodiscard]] Variable tanh(const Variable& input);

/// input / (1 + e^-input). @source Elfwing, Uchibe and Doya, Neural Networks 107, 2018.
[[nodiscard]] Variable silu(const Variable& input);

/// input / sqrt(mean of squares + epsilon) * weight over the last dimension.
/// @param input [..., C], @param weight [C]; float32 if the input is bfloat16.
/// @source Zhang and Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019.
[[nodiscard]] Variable rms_norm(const Variable& input, const Variable& weight, double epsilon);

/// The angles of rotary positions: pair i of D/2 turns by position * base^(-2i/D).
struct RotaryTable {
  Tensor cos;  ///< [T, D/2].
  Tensor sin;  ///< [T, D/2].

  /// @param positions  T, counted from 0. @param head_size  D, even. @param base  10000 in the paper and in LLaMA.
  /// @param dtype      float32 for float32 and bfloat16 activations, else float64.
  /// @param device     That of the model.
  [[nodiscard]] static RotaryTable make(std::int64_t positions, std::int64_t head_size, double base = 10000.0,
                                        DType dtype = DType::kFloat32, Device device = {});
};

/// Rotates queries or keys by their positions; the pairs are elements i and i + D/2, as in Hugging Face's function of
/// the same name. @param input  [..., T, D]. @param table  For T positions and D elements.
/// @source Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021, section 3.4.
[[nodiscard]] Variable apply_rotary_pos_emb(const Variable& input, const RotaryTable& table);

}  // namespace lockstep::autograd
