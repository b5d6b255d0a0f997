#pragma once
/// @file
/// Assigns parameters to buckets, and gradients to places in them.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/process_group.hpp"
#include "nn/module.hpp"

namespace lockstep::ddp {

/// One bucket: its memory, and the place of each parameter's gradient.
struct Bucket {
  std::size_t index = 0;                  ///< Position among the buckets: the order in which they leave.
  std::vector<std::size_t> parameters{};  ///< Indices into named_parameters(), as they lie in `gradients`.
  Tensor gradients{};                     ///< [count], one dtype; views start at multiples of 64 bytes.
  std::vector<std::int64_t> ends{};       ///< By parameter: end of its gradient and the gap after it, in elements.
};

/// Sizes of buckets; PyTorch's defaults.
struct BucketLimits {
  std::int64_t first_bytes = std::int64_t{1} << 20;  ///< Small, so that communication starts early.
  std::int64_t bytes = std::int64_t{25} << 20;       ///< Large enough that latency does not matter.
};

/// Fills buckets with parameters in the given order. A bucket holds one dtype; a parameter larger than the limit gets
/// its own bucket.
/// @param order  Every index into `parameters` once.
[[nodiscard]] std::vector<Bucket> lay_out_buckets(std::span<const nn::NamedParameter> parameters,
                                                  std::span<const std::size_t> order, const BucketLimits& limits);

/// Bytes of all buckets together, whatever their layout.
[[nodiscard]] std::size_t gradient_bytes(std::span<const nn::NamedParameter> parameters);

/// Gives every bucket its part of `memory` and makes the parameters' gradients views into it. Existing gradients move
/// there, even from an earlier layout in the same memory.
/// @param memory  Of gradient_bytes(), on the parameters' device.
/// @cost  If gradients of an earlier layout move, as much memory again until it returns.
void place_buckets(std::vector<Bucket>& buckets, std::span<const nn::NamedParameter> parameters,
                   const std::shared_ptr<Storage>& memory);

/// The parameters' names as they lie in the buckets.
[[nodiscard]] std::vector<std::string> names_in_order(std::span<const Bucket> buckets,
                                                      std::span<const nn::NamedParameter> parameters);

/// The inverse: an order for lay_out_buckets().
/// @throws FormatError  Not the names of all parameters, each once.
[[nodiscard]] std::vector<std::size_t> indices_of(std::span<const std::string> names,
                                                  std::span<const nn::NamedParameter> parameters);

/// The tensor as a buffer for collectives, which keeps its storage alive.
[[nodiscard]] comm::Buffer as_buffer(const Tensor& tensor);

}  // namespace lockstep::ddp
