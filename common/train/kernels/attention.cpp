#include "kernels/attention.hpp"

#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

namespace lockstep::kernels {

namespace {

void require_attention(std::string_view operation, const Tensor& qkv, int heads, const Tensor& out,
                       const Tensor& log_sum_exp) {
  require(qkv.shape().rank() == 3 && heads > 0 && qkv.shape()[2] % (3 * std::int64_t{heads}) == 0, operation,
          ": qkv must be [B, T, 3C] with C divisible by ", heads, " heads, not ", qkv.shape());
  require_count(operation, "out", out, qkv.count() / 3, qkv.dtype());
  require_count(operation, "log_sum_exp", log_sum_exp, qkv.shape()[0] * heads * qkv.shape()[1], DType::kFloat32);
}

}  // namespace

void causal_attention_forward(const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv, int heads,
                              const DropoutMask& dropout) {
  constexpr std::string_view kName = "causal_attention_forward";
  if (is_on_cpu(kName, out, log_sum_exp, qkv)) {
    return cpu::causal_attention_forward(out, log_sum_exp, qkv, heads, dropout);
  }
  require_attention(kName, qkv, heads, out, log_sum_exp);
  DeviceCall call(kName, qkv);
  const std::int64_t samples = qkv.shape()[0];
  call.ops().causal_attention_forward(array_of(out), array_of(log_sum_exp), array_of(qkv), samples, heads,
                                      call.attention_dropout(dropout, samples), call.context());
}

void causal_attention_backward(const Tensor& qkv_gradient, const Tensor& out_gradient, const Tensor& out,
                               const Tensor& log_sum_exp, const Tensor& qkv, int heads, const DropoutMask& dropout) {
  constexpr std::string_view kName = "causal_attention_backward";
  if (is_on_cpu(kName, qkv_gradient, out_gradient, out, log_sum_exp, qkv)) {
    return cpu::causal_attention_backward(qkv_gradient, out_gradient, out, log_sum_exp, qkv, heads, dropout);
  }
  require_attention(kName, qkv, heads, out, log_sum_exp);
  require_like(kName, "qkv gradient", qkv_gradient, qkv);
  require_like(kName, "out gradient", out_gradient, out);
  DeviceCall call(kName, qkv);
  const std::int64_t samples = qkv.shape()[0];
  call.ops().causal_attention_backward(array_of(qkv_gradient), array_of(out_gradient), array_of(out),
                                       array_of(log_sum_exp), array_of(qkv), samples, heads,
                                       call.attention_dropout(dropout, samples), call.context());
}

void cached_attention_forward(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& qkv, int heads,
                              std::int64_t past) {
  constexpr std::string_view kName = "cached_attention_forward";
  require(is_on_cpu(kName, out, keys, values, qkv), kName, ": only the CPU has this operation");
  cpu::cached_attention_forward(out, keys, values, qkv, heads, past);
}

}  // namespace lockstep::kernels
