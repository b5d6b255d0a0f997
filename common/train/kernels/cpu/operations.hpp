#pragma once
/// @file
/// The kernels of the CPU: arrays are in host memory, and a Context holds nothing. Internal to this module.
#include "kernels/operations.hpp"

namespace lockstep::kernels::cpu {

#define OPERATION(name, ...) void name(__VA_ARGS__, Context context);
#include "kernels/operations.inc"
#undef OPERATION

/// Only the CPU has it. With past = 0 it only stores keys and values, and leaves `out` as causal_attention_forward()
/// has computed it.
/// @param keys     [B H T, D], of the type of computations.
/// @param values   As `keys`.
/// @param qkv      [B N, 3C].
/// @param samples  B.
void cached_attention_forward(Array out, Array keys, Array values, ConstArray qkv, std::int64_t samples, int heads,
                              std::int64_t past);

/// The table of them all but the last.
[[nodiscard]] const Operations& operations();

}  // namespace lockstep::kernels::cpu
