#pragma once
/// @file
/// The reduction of several sources at once: each element is read once per source and written once per destination.
#include <cstdint>
#include <span>

#include "base/dtype.hpp"
#include "comm/fingerprint.hpp"

namespace lockstep::comm {

/// destination[i] = sources[0][i] op sources[1][i] op ..., from left to right, for every destination; kMean then
/// divides by the number of sources. Bit-identical to reduce_into() and finish_mean() called source by source.
///
/// @param sources       Host memory, [count] each, at least one.
/// @param destinations  Host memory, [count] each, at least one. A destination may be one of the sources; otherwise
///                      nothing overlaps.
/// @throws ContractError  No source or destination, or uint8 or float16, which are for copying only.
/// @cost   One pass: sources.size() reads and destinations.size() writes per element.
void reduce_many(std::span<const void* const> sources, std::span<void* const> destinations, std::int64_t count,
                 DType dtype, ReduceOp op);

}  // namespace lockstep::comm
