#pragma once
/// @file
/// The arithmetic of a collective: element-wise reduction of host memory, the same for every backend.
#include <cstdint>
#include <string_view>

#include "base/dtype.hpp"
#include "comm/process_group.hpp"

namespace lockstep::comm {

/// @param what  The caller, for the message: "all_reduce".
/// @throws ContractError  uint8 or float16, which are for copying only, on every backend.
void require_reducible(std::string_view what, DType dtype);

/// accumulator[i] = accumulator[i] op operand[i] for i in [0, count). kMean adds, as kSum; finish_mean() divides.
///
/// NaN propagates through kMin and kMax. Integer sums and products wrap. bfloat16 is computed in float32 and rounded to
/// nearest even after each reduction.
///
/// @param accumulator  Host memory, [count], in place; may be null if count is 0.
/// @param operand      Host memory, [count], same dtype; must not overlap `accumulator`.
/// @throws ContractError  uint8 or float16, which are for copying only.
/// @cost   One pass: 2 reads and 1 write per element.
void reduce_into(void* accumulator, const void* operand, std::int64_t count, DType dtype, ReduceOp op);

/// The last step of kMean: values[i] = values[i] / world_size. Integers truncate towards zero. For a group of one rank,
/// or another op, the values are unchanged.
void finish_mean(void* values, std::int64_t count, DType dtype, ReduceOp op, int world_size);

}  // namespace lockstep::comm
