#pragma once
/// @file
/// The rows of a batch that an OrderShard has dealt, brought together again.
#include <cstdint>

#include "tensor/tensor.hpp"

namespace lockstep::accelerate {

/// `tensor` with rows of zeros behind it, `rows` in all: gathering takes as many from each rank.
/// @pre  rows >= tensor.shape()[0]. @cost  A copy, unless it has as many already.
[[nodiscard]] Tensor padded(const Tensor& tensor, std::int64_t rows);

/// The first `count` rows of the global batch in the order in which one process would have had them: position p was
/// dealt to rank p % world_size, as its row p / world_size.
/// @param gathered  As many rows of each rank, rank after rank.
[[nodiscard]] Tensor in_order_of_positions(const Tensor& gathered, int world_size, std::int64_t count);

}  // namespace lockstep::accelerate
