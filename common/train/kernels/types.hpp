#pragma once
/// @file
/// Small types that several operations share.
#include <cstdint>
#include <span>

#include "base/dtype.hpp"

namespace lockstep::kernels {

/// Whether an output replaces what is there or is added to it. A first gradient contribution overwrites, so that
/// nothing is filled with zeros.
enum class Write { kOverwrite, kAdd };

/// Whether a matrix is used as stored or with rows and columns exchanged.
enum class Transpose { kNo, kYes };

/// Which way rotary positions turn pairs of elements: forward, or back as gradients are.
enum class Rotation { kForward, kBackward };

/// The type of what is computed from elements of `dtype` and is no activation (statistics, losses, gradients of
/// parameters): float32 for bfloat16 and float16, else `dtype`.
[[nodiscard]] constexpr DType accumulation_dtype(DType dtype) noexcept {
  return is_reduced_float(dtype) ? DType::kFloat32 : dtype;
}

/// Which elements a dropout drops: a pure function of (key, sample id, element within the sample), so that the same
/// global batch draws the same mask however it is divided over ranks, micro-batches and threads; nothing is stored.
struct DropoutMask {
  float probability = 0.0F;                  ///< Of dropping an element, in [0, 1). 0: no dropout.
  std::uint64_t key = 0;                     ///< From dropout_key().
  std::span<const std::int64_t> sample_ids;  ///< [B] global ids; the first dimension of the tensor is B.

  // Where the tensor is only a part of what the mask is drawn for, so that the parts of several ranks draw the whole's.
  /// Number of the sample's element that comes first in the tensor, which has a run of each sample's elements. Of
  /// attention whose heads begin with head h: h T T.
  std::int64_t first_element = 0;
  /// 0, or how many rows a sample has: then the tensor is [..., columns], and its rows are some of all samples' rows,
  /// one sample's after the other's, beginning with row `first_row`. Not for attention.
  std::int64_t rows_per_sample = 0;
  std::int64_t first_row = 0;  ///< In [0, B * rows_per_sample); read only with rows_per_sample.

  /// False: dropout changes nothing.
  [[nodiscard]] bool is_active() const noexcept { return probability > 0.0F; }
};

/// An index space of four dimensions and where its elements lie in memory: (i0, i1, i2, i3) is element
/// offset + i0 strides[0] + ... + i3 strides[3]. Dimensions that a tensor lacks come first and have size 1; a stride of
/// 0 repeats what is there. Made by the functions of kernels/views.hpp. Plain arrays, for device code.
struct StridedView {
  std::int64_t offset = 0;                 ///< Of the first element, in elements.
  std::int64_t sizes[4] = {1, 1, 1, 1};    ///< Outermost first.
  std::int64_t strides[4] = {0, 0, 0, 0};  ///< In elements.

  /// Number of elements of the index space.
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
};

/// A tensor [outer, count, inner] of which `count` elements each are added up.
struct SumSizes {
  std::int64_t outer;  ///< Product of the dimensions before the one that is summed over.
  std::int64_t count;  ///< Its size.
  std::int64_t inner;  ///< Product of those behind it.
};

/// The key of one dropout layer in one step.
/// @param layer  Differs between all dropouts of a model.
[[nodiscard]] std::uint64_t dropout_key(std::uint64_t seed, std::int64_t step, std::uint64_t layer) noexcept;

}  // namespace lockstep::kernels
