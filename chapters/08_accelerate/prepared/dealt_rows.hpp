#pragma once
/// @file
/// Reassembles the rows of a batch dealt by an OrderShard.
#include <cstdint>

#include "tensor/tensor.hpp"

namespace lockstep::accelerate {

/// `tensor` followed by rows of zeros, `rows` in all, because gathering needs the same number from each rank.
/// @pre  rows >= tensor.shape()[0]. @cost  A copy, unless it already has `rows` rows.
[[nodiscard]] Tensor padded(const Tensor& tensor, std::int64_t rows);

/// The first `count` rows of the global batch in the order of a single process: position p was dealt to rank
/// p % world_size, as its row p / world_size.
/// @param gathered  Equally many rows per rank, rank after rank.
[[nodiscard]] Tensor in_order_of_positions(const Tensor& gathered, int world_size, std::int64_t count);

}  // namespace lockstep::accelerate
