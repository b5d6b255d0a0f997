#pragma once
/// @file
/// The functions in the table of kernels/device_ops.hpp. Internal to this module.
#include "kernels/device_ops.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

using Array = DeviceArray;
using Context = const DeviceContext&;

#define OPERATION(name, parameters) void name parameters;
#include "kernels/device_operations.inc"
#undef OPERATION

/// causal_attention_forward for bfloat16 and float16. Probabilities are rounded to that type before they multiply the
/// values.
void attention_on_tensor_cores(Array out, Array log_sum_exp, Array qkv, std::int64_t samples, int heads,
                               const DeviceDropout& dropout, Context context);

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
