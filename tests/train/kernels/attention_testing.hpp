#pragma once
/// @file
/// Both passes of attention: on the device under test, and in float64 on the CPU.
#include "kernels/attention.hpp"
#include "kernels/device_testing.hpp"

namespace lockstep::kernels::testing {

/// B samples of T positions in H heads of D channels.
struct AttentionSizes {
  std::int64_t B, T, H, D;
};

/// The results of both passes of attention on the CPU in float64, and on the device.
struct Results {
  Tensor out, log_sum_exp, gradient;
};

inline Results on_cpu(const AttentionSizes& s, const Tensor& qkv, const Tensor& dy, const DropoutMask& mask) {
  Results r{Tensor::empty({s.B, s.T, s.H * s.D}, DType::kFloat64), Tensor::empty({s.B, s.H, s.T}, DType::kFloat64),
            Tensor::empty({s.B, s.T, 3 * s.H * s.D}, DType::kFloat64)};
  const int heads = static_cast<int>(s.H);
  causal_attention_forward(r.out, r.log_sum_exp, doubled(qkv), heads, mask);
  causal_attention_backward(r.gradient, doubled(dy), r.out, r.log_sum_exp, doubled(qkv), heads, mask);
  return r;
}

inline Results on_device(TestDevice& device, const Operations& ops, const AttentionSizes& s, const Tensor& qkv,
                         const Tensor& dy, const DropoutMask& mask) {
  const Array input = device.put(qkv), out = device.make(dy), gradient = device.make(qkv);
  const Array log_sum_exp = device.make(Tensor::empty({s.B, s.H, s.T}));
  const Dropout dropout = mask.is_active() ? device.mask(mask) : Dropout{};
  const int heads = static_cast<int>(s.H);
  ops.causal_attention_forward(out, log_sum_exp, input, s.B, heads, dropout, device.context());
  ops.causal_attention_backward(gradient, device.put(dy), out, log_sum_exp, input, s.B, heads, dropout,
                                device.context());
  return {device.get(out), device.get(log_sum_exp), device.get(gradient)};
}

inline Results on_device(TestDevice& device, const AttentionSizes& s, const Tensor& qkv, const Tensor& dy,
                         const DropoutMask& mask) {
  return on_device(device, device.ops(), s, qkv, dy, mask);
}

}  // namespace lockstep::kernels::testing
