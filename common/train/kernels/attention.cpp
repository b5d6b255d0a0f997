#include "kernels/attention.hpp"

#include "kernels/call.hpp"
#include "kernels/cpu/operations.hpp"

namespace lockstep::kernels {

namespace {

void require_attention(const Call& call, const Tensor& qkv, int heads, const Tensor& out) {
  require(qkv.shape().rank() == 3 && heads > 0 && qkv.shape()[2] % (3 * std::int64_t{heads}) == 0, call.operation(),
          ": qkv must be [B, T, 3C] with C divisible by ", heads, " heads, not ", qkv.shape());
  call.require_count("out", out, qkv.count() / 3, qkv.dtype());
}

void require_log_sum_exp(const Call& call, const Tensor& log_sum_exp, const Tensor& qkv, int heads) {
  call.require_count("log_sum_exp", log_sum_exp, qkv.shape()[0] * heads * qkv.shape()[1],
                     accumulation_dtype(qkv.dtype()));
}

}  // namespace

void causal_attention_forward(const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv, int heads,
                              const DropoutMask& dropout) {
  const Call call("causal_attention_forward", qkv, out, log_sum_exp);
  require_attention(call, qkv, heads, out);
  require_log_sum_exp(call, log_sum_exp, qkv, heads);
  const std::int64_t samples = qkv.shape()[0];
  call.run(&Operations::causal_attention_forward, out, log_sum_exp, qkv, samples, heads,
           call.attention_dropout(dropout, samples));
}

void causal_attention_backward(const Tensor& qkv_gradient, const Tensor& out_gradient, const Tensor& out,
                               const Tensor& log_sum_exp, const Tensor& qkv, int heads, const DropoutMask& dropout) {
  const Call call("causal_attention_backward", qkv, qkv_gradient, out_gradient, out, log_sum_exp);
  require_attention(call, qkv, heads, out);
  require_log_sum_exp(call, log_sum_exp, qkv, heads);
  call.require_like("qkv gradient", qkv_gradient, qkv);
  call.require_like("out gradient", out_gradient, out);
  const std::int64_t samples = qkv.shape()[0];
  call.run(&Operations::causal_attention_backward, qkv_gradient, out_gradient, out, log_sum_exp, qkv, samples, heads,
           call.attention_dropout(dropout, samples));
}

void cached_attention_forward(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& qkv, int heads,
                              std::int64_t past) {
  const Call call("cached_attention_forward", qkv, out, keys, values);
  require(call.is_on_cpu(), call.operation(), ": only the CPU has this operation");
  require_attention(call, qkv, heads, out);
  require(keys.shape().rank() == 4, call.operation(), ": keys must be [B, H, T, D], not ", keys.shape());
  const std::int64_t samples = qkv.shape()[0], count = qkv.shape()[1], capacity = keys.shape()[2];
  const Shape expected{samples, heads, capacity, qkv.shape()[2] / 3 / heads};
  const DType dtype = accumulation_dtype(qkv.dtype());
  for (const Tensor* kept : {&keys, &values}) {
    require(kept->shape() == expected && kept->dtype() == dtype, call.operation(), ": keys and values must be ", dtype,
            " ", expected, ", not ", kept->dtype(), " ", kept->shape());
  }
  require(past >= 0 && past <= capacity - count, call.operation(), ": ", count, " positions after ", past,
          " do not fit in a cache of ", capacity);
  if (past == 0) {
    causal_attention_forward(out, Tensor::empty({samples, heads, count}, dtype), qkv, heads);
  }
  cpu::cached_attention_forward(array_of(out), array_of(keys), array_of(values), const_array_of(qkv), samples, heads,
                                past);
}

}  // namespace lockstep::kernels
