#pragma once
/// @file
/// The last step of a mean on a device: NCCL adds, this function divides.
#include <cstdint>

#include "base/dtype.hpp"
#include "device/stream.hpp"

namespace lockstep::nccl {

/// values[i] = values[i] / divisor, in `stream`'s order. float32 and bfloat16 are divided in float32 and rounded to
/// nearest even; integers truncate towards zero. Equal bit for bit to comm::finish_mean() on host memory.
/// @param values   Device memory, [count].
/// @param count    May be 0.
/// @param dtype    float32, float64, bfloat16, int32 or int64.
/// @param divisor  Not 0.
/// @param stream   On the device of `values`.
/// @throws ContractError  uint8 or float16, which are for copying only.
/// @throws CudaError      The launch failed.
/// @cost   One pass: a read and a write per element.
void divide(void* values, std::int64_t count, DType dtype, int divisor, const Stream& stream);

}  // namespace lockstep::nccl
