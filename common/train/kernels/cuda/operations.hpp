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

/// out_gradient . out of each head: [B, H, T], in scratch memory.
[[nodiscard]] float* attention_deltas(ConstArray out_gradient, ConstArray out, std::int64_t samples, int heads,
                                      Context context);

/// causal_attention_backward for bfloat16. Probabilities and the gradients of scores are rounded to that type before
/// they multiply. @param deltas  Of attention_deltas().
void attention_backward_on_tensor_cores(Array qkv_gradient, ConstArray out_gradient, const float* deltas,
                                        ConstArray log_sum_exp, ConstArray qkv, std::int64_t samples, int heads,
                                        const Dropout& dropout, Context context);

/// The table of them all.
[[nodiscard]] const Operations& operations();

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
