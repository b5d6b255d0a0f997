#pragma once
/// @file
/// The kernels of CUDA devices. Internal to this module.
#include "kernels/operations.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

#define OPERATION(name, ...) void name(__VA_ARGS__, Context context);
#include "kernels/operations.inc"
#undef OPERATION

/// causal_attention_forward for bfloat16 and float16. Probabilities are rounded to that type before they multiply the
/// values.
void attention_on_tensor_cores(Array out, Array log_sum_exp, ConstArray qkv, std::int64_t samples, int heads,
                               const Dropout& dropout, Context context);

/// The table of them all.
[[nodiscard]] const Operations& operations();

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
