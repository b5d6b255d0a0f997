#pragma once
/// @file
/// The random numbers for initial values, four at a time: element i of a tensor is number i % 4 of block i / 4.
/// Internal to this module.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/philox.hpp"
#include "tensor/slice.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::nn {

/// @param key  Of the parameter. @param scale  The standard deviation.
[[nodiscard]] inline std::array<float, 4> normal_block(std::uint64_t key, float scale, std::uint64_t block) noexcept {
  const PhiloxWords words = philox4x32(key, 0, block);
  const auto low = normal_floats(words[0], words[1]), high = normal_floats(words[2], words[3]);
  return {scale * low[0], scale * low[1], scale * high[0], scale * high[1]};
}

/// @param key  Of the parameter. @param scale  The bound.
[[nodiscard]] inline std::array<float, 4> uniform_block(std::uint64_t key, float scale, std::uint64_t block) noexcept {
  std::array<float, 4> four{};
  const PhiloxWords words = philox4x32(key, 0, block);
  for (std::size_t i = 0; i < 4; ++i) four[i] = scale * (2 * uniform_float(words[i]) - 1);
  return four;
}

/// Generates the numbers of one block.
using BlockGenerator = std::function<std::array<float, 4>(std::uint64_t block)>;

/// A tensor of these numbers, computed on all processors that this thread may use, then copied to the device.
[[nodiscard]] Tensor generate(const Shape& shape, DType dtype, Device device, const BlockGenerator& block);
/// A part of such a tensor. An element's value depends only on its index in the whole tensor, so the part is made
/// without the rest.
[[nodiscard]] Tensor generate(const Slice& slice, DType dtype, Device device, const BlockGenerator& block);

}  // namespace lockstep::nn
