#include "kernels/embedding.hpp"

#include "kernels/cpu/ops.hpp"
#include "kernels/device_call.hpp"

namespace lockstep::kernels {

namespace {

// The kernels check that tokens are in range: DeviceFaults.
void require_tokens(std::string_view operation, const Tensor& tokens, const Tensor& embedded, const Tensor& table) {
  require_count(operation, "tokens", tokens, rows_of(embedded), DType::kInt32);
  require(table.is_defined() && table.dtype() == DType::kFloat32 && columns_of(table) == columns_of(embedded),
          operation, ": table ", table.shape(), " does not fit ", embedded.shape());
}

}  // namespace

void embedding_forward(const Tensor& out, const Tensor& tokens, const Tensor& token_table,
                       const Tensor& position_table) {
  if (is_on_cpu("embedding_forward", out, tokens, token_table, position_table)) {
    return cpu::embedding_forward(out, tokens, token_table, position_table);
  }
  require_tokens("embedding_forward", tokens, out, token_table);
  require(!position_table.is_defined() ||
              (position_table.dtype() == DType::kFloat32 && columns_of(position_table) == columns_of(out) &&
               rows_of(position_table) >= columns_of(tokens)),
          "embedding_forward: position table ", position_table.shape(), " does not fit ", out.shape());
  const DeviceCall call("embedding_forward", out);
  call.ops().embedding_forward(array_of(out), array_of(tokens), array_to_read(token_table),
                               array_to_read(position_table), call.context());
}

void embedding_token_gradient(const Tensor& token_gradient, Write write, const Tensor& out_gradient,
                              const Tensor& tokens) {
  if (is_on_cpu("embedding_token_gradient", token_gradient, out_gradient, tokens)) {
    return cpu::embedding_token_gradient(token_gradient, write, out_gradient, tokens);
  }
  require_tokens("embedding_token_gradient", tokens, out_gradient, token_gradient);
  const DeviceCall call("embedding_token_gradient", out_gradient);
  call.ops().embedding_token_gradient(array_of(token_gradient), write, array_of(out_gradient), array_of(tokens),
                                      call.context());
}

void embedding_position_gradient(const Tensor& position_gradient, Write write, const Tensor& out_gradient) {
  if (is_on_cpu("embedding_position_gradient", position_gradient, out_gradient)) {
    return cpu::embedding_position_gradient(position_gradient, write, out_gradient);
  }
  require(out_gradient.shape().rank() == 3, "embedding_position_gradient: the gradient must be [B, T, C], not ",
          out_gradient.shape());
  require(position_gradient.dtype() == DType::kFloat32 && columns_of(position_gradient) == columns_of(out_gradient) &&
              rows_of(position_gradient) >= out_gradient.shape()[1],
          "embedding_position_gradient: table gradient ", position_gradient.shape(), " does not fit ",
          out_gradient.shape());
  const DeviceCall call("embedding_position_gradient", out_gradient);
  call.ops().embedding_position_gradient(array_of(position_gradient), write, array_of(out_gradient),
                                         out_gradient.shape()[0], call.context());
}

}  // namespace lockstep::kernels
