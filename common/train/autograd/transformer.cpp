// The other operations of a transformer: embeddings, layer normalization, attention.
#include "autograd/autocast.hpp"
#include "autograd/dropout_site.hpp"
#include "autograd/functions.hpp"
#include "autograd/in_place.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "kernels/attention.hpp"
#include "kernels/embedding.hpp"
#include "kernels/layer_norm.hpp"

namespace lockstep::autograd {
namespace {

// Both parameter gradients of a layer norm, written in the same mode.
struct NormGradients {
  Tensor d_weight, d_bias;  // [C]
  GradientWrite write;
};

NormGradients begin_norm_gradients(const Variable& weight, const Variable& bias) {
  const auto begin = [&](const Variable& parameter) {
    if (parameter.requires_grad()) return parameter.begin_gradient_write();
    // Scratch for an unused gradient.
    return std::pair(Tensor::empty(weight.shape(), weight.dtype(), weight.device()), GradientWrite::kOverwrite);
  };
  const auto [d_weight, weight_write] = begin(weight);
  const auto [d_bias, bias_write] = begin(bias);
  if (weight_write == bias_write) return {d_weight, d_bias, weight_write};
  (weight_write == GradientWrite::kOverwrite ? d_weight : d_bias).fill_zero();
  return {d_weight, d_bias, GradientWrite::kAdd};
}

// Records `normalized`, the layer norm of `input`.
Variable record_layer_norm(const Variable& input, const Variable& weight, const Variable& bias, Tensor normalized,
                           const kernels::LayerNormStatistics& statistics) {
  const auto backward = [input, weight, bias = bias.without_value(), statistics](const Tensor& d_output) {
    const auto [d_weight, d_bias, write] = begin_norm_gradients(weight, bias);
    const auto run = [&](const Tensor& d_input, const Tensor& skip) {
      const Tensor x = input.value(), w = weight.value();
      kernels::layer_norm_backward(d_input, d_output, statistics, x, w, d_weight, d_bias, write, skip);
    };
    const bool is_apart = !input.is_same(weight) && !input.is_same(bias);  // else the kernel writes its gradient
    if (is_apart && input.has_gradient()) {  // the residual stream: add to the gradient that bypassed the norm
      const Tensor d_input = input.begin_gradient_write().first;
      run(d_input, d_input);
    } else {
      Tensor d_input = reuse_or_allocate(d_output);
      run(d_input, Tensor());
      if (input.requires_grad()) input.accumulate_gradient(std::move(d_input));
    }
  };
  return record(std::move(normalized), {input, weight, bias}, backward);
}

}  // namespace

Variable layer_norm(const Variable& input, const Variable& weight, const Variable& bias, double epsilon) {
  const Tensor x = input.value(), w = weight.value(), b = bias.value();  // [..., C], [C], [C]
  Tensor output = Tensor::empty(x.shape(), x.dtype(), x.device());
  const auto statistics = kernels::LayerNormStatistics::for_rows_of(x);
  kernels::layer_norm_forward(output, statistics, x, w, b, epsilon);
  return record_layer_norm(input, weight, bias, std::move(output), statistics);
}

ResidualNorm add_layer_norm(const Variable& input, Variable branch, const Variable& weight, const Variable& bias,
                            double epsilon) {
  const Tensor x = input.value(), w = weight.value(), b = bias.value();  // [..., C], [C], [C]
  const Tensor sum = output_for(branch);
  const Tensor output = Tensor::empty(x.shape(), x.dtype(), x.device());
  const auto statistics = kernels::LayerNormStatistics::for_rows_of(x);
  kernels::add_layer_norm_forward(output, sum, statistics, x, branch.value(), w, b, epsilon);

  Variable total = record(sum, {input, branch}, [a = input.without_value(), b = branch.without_value()](Tensor d_sum) {
    if (a.requires_grad()) a.accumulate_gradient(d_sum);
    if (b.requires_grad()) b.accumulate_gradient(std::move(d_sum));
  });
  Variable normalized = record_layer_norm(total, weight, bias, output, statistics);
  return {std::move(total), std::move(normalized)};
}

Variable embedding(const Tensor& given, const Variable& token_table, const Variable& position_table) {
  require(given.shape().rank() == 2, "autograd: embedding needs tokens [B, T], not ", given.shape());
  const Tensor table = token_table.value();        // [V, C]
  const Tensor tokens = given.to(table.device());  // [B, T]
  Tensor output = Tensor::empty({tokens.shape()[0], tokens.shape()[1], table.shape()[-1]},
                                activation_dtype(table.dtype()), table.device());  // [B, T, C]
  kernels::embedding_forward(output, tokens, table, position_table.is_defined() ? position_table.value() : Tensor());

  return record(output, {token_table, position_table},
                [tokens, token_table = token_table.without_value(),
                 position_table = position_table.without_value()](const Tensor& d_output) {
                  if (token_table.requires_grad()) {
                    const auto [d_table, write] = token_table.begin_gradient_write();
                    kernels::embedding_token_gradient(d_table, write, d_output, tokens);
                  }
                  if (position_table.requires_grad()) {
                    const auto [d_table, write] = position_table.begin_gradient_write();
                    kernels::embedding_position_gradient(d_table, write, d_output);
                  }
                });
}

Variable attention(const Variable& qkv, std::int64_t head_count, const kernels::DropoutMask& dropout) {
  const Tensor& packed = qkv.value();  // [B, T, 3C]
  require(packed.shape().rank() == 3, "autograd: attention needs qkv [B, T, 3C], not ", packed.shape());
  const std::int64_t samples = packed.shape()[0], positions = packed.shape()[1], channels = packed.shape()[2] / 3;
  const int heads = static_cast<int>(head_count);
  const Tensor output = Tensor::empty({samples, positions, channels}, packed.dtype(), packed.device());  // [B, T, C]
  const Tensor log_sum_exp =
      Tensor::empty({samples, head_count, positions}, kernels::accumulation_dtype(packed.dtype()),
                    packed.device());  // [B, H, T]
  kernels::causal_attention_forward(output, log_sum_exp, packed, heads, dropout);

  return record(output, {qkv}, [qkv, output, log_sum_exp, heads, site = DropoutSite(dropout)](const Tensor& d_output) {
    const Tensor& value = qkv.value();
    Tensor d_qkv = Tensor::empty(value.shape(), value.dtype(), value.device());
    kernels::causal_attention_backward(d_qkv, d_output, output, log_sum_exp, value, heads, site.mask());
    qkv.accumulate_gradient(std::move(d_qkv));
  });
}

}  // namespace lockstep::autograd
