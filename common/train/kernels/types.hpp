#pragma once
/// @file
/// Small types that several operations share.
#include <cstdint>
#include <span>

#include "base/dtype.hpp"

namespace lockstep::kernels {

/// Whether an output is overwritten or added to. A first gradient contribution overwrites, so that nothing is filled
/// with zeros.
enum class Write { kOverwrite, kAdd };

/// Whether a matrix is used as stored or transposed.
enum class Transpose { kNo, kYes };

/// Which way rotary positions rotate pairs of elements: forward, or back for gradients.
enum class Rotation { kForward, kBackward };

/// The type of values computed from elements of `dtype` that are no activations (statistics, losses, gradients of
/// parameters): float32 for bfloat16 and float16, else `dtype`.
[[nodiscard]] constexpr DType accumulation_dtype(DType dtype) noexcept {
  return is_reduced_float(dtype) ? DType::kFloat32 : dtype;
}

/// Which elements a dropout drops: a pure function of (key, sample id, element within the sample), so that the same
/// global batch draws the same mask for any division over ranks, micro-batches and threads; nothing is stored.
struct DropoutMask {
  float probability = 0.0F;                  ///< Probability of dropping an element, in [0, 1). 0: no dropout.
  std::uint64_t key = 0;                     ///< From dropout_key().
  std::span<const std::int64_t> sample_ids;  ///< [B] global ids; the first dimension of the tensor is B.

  // For a tensor that is only a part of the one that the mask is drawn for: the parts of several ranks draw the same
  // mask as the whole.
  /// Index within the sample of its first element in the tensor, which has a run of each sample's elements. For
  /// attention whose heads begin with head h: h T T.
  std::int64_t first_element = 0;
  /// 0, or the number of rows per sample: then the tensor is [..., columns], and its rows are some of all samples'
  /// rows, one sample's after the other's, beginning with row `first_row`. Not for attention.
  std::int64_t rows_per_sample = 0;
  std::int64_t first_row = 0;  ///< In [0, B * rows_per_sample); read only with rows_per_sample.

  /// False: dropout changes nothing.
  [[nodiscard]] bool is_active() const noexcept { return probability > 0.0F; }
};

/// An index space of four dimensions and its elements' offsets in memory: (i0, i1, i2, i3) is element
/// offset + i0 strides[0] + ... + i3 strides[3]. Dimensions that a tensor lacks come first and have size 1; a stride of
/// 0 repeats an element. Made by the functions of kernels/views.hpp. Plain arrays, for device code.
struct StridedView {
  std::int64_t offset = 0;                 ///< Of the first element, in elements.
  std::int64_t sizes[4] = {1, 1, 1, 1};    ///< Outermost first.
  std::int64_t strides[4] = {0, 0, 0, 0};  ///< In elements.

  [[nodiscard]] constexpr std::int64_t count() const noexcept { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
};

/// A tensor [outer, count, inner] that is summed over its middle dimension.
struct SumSizes {
  std::int64_t outer;  ///< Product of the dimensions before it.
  std::int64_t count;  ///< Size of the dimension summed over.
  std::int64_t inner;  ///< Product of the dimensions after it.
};

/// The key of one dropout layer in one step.
/// @param layer  Differs between all dropouts of a model.
[[nodiscard]] std::uint64_t dropout_key(std::uint64_t seed, std::int64_t step, std::uint64_t layer) noexcept;

}  // namespace lockstep::kernels
