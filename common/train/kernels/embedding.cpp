#include "kernels/embedding.hpp"

#include "kernels/call.hpp"

namespace lockstep::kernels {

namespace {

/// [B, T] tokens that embed into [B, T, C]. Tokens on a device are compared with V by the kernels: DeviceFaults.
/// @return  `part`, with the size of the vocabulary.
VocabularyPart require_tokens(const Call& call, const Tensor& tokens, const Tensor& embedded, const Tensor& table,
                              const VocabularyPart& part) {
  call.require_count("tokens", tokens, rows_of(embedded), DType::kInt32);
  require(table.is_defined() && table.dtype() == accumulation_dtype(embedded.dtype()) &&
              columns_of(table) == columns_of(embedded),
          call.operation(), ": table ", table.shape(), " does not fit ", embedded.shape());
  const VocabularyPart checked = call.part_of_vocabulary(part, rows_of(table));
  if (!call.is_on_cpu()) return checked;
  const std::span<const std::int32_t> ids = tokens.span<std::int32_t>();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    require(ids[i] >= 0 && ids[i] < checked.whole, call.operation(), ": token ", ids[i], " at ", i, " is not in [0, ",
            checked.whole, ")");
  }
  return checked;
}

/// Whether `table` has a row for each of `length` positions of `embedded`.
bool has_positions(const Tensor& table, const Tensor& embedded, std::int64_t length) {
  return table.dtype() == accumulation_dtype(embedded.dtype()) && columns_of(table) == columns_of(embedded) &&
         rows_of(table) >= length;
}

}  // namespace

void embedding_forward(const Tensor& out, const Tensor& tokens, const Tensor& token_table, const Tensor& position_table,
                       const VocabularyPart& part) {
  const Call call("embedding_forward", out, tokens, token_table, position_table);
  const VocabularyPart checked = require_tokens(call, tokens, out, token_table, part);
  require(!position_table.is_defined() || has_positions(position_table, out, columns_of(tokens)), call.operation(),
          ": position table ", position_table.shape(), " does not fit ", out.shape());
  call.run(&Operations::embedding_forward, out, tokens, token_table, position_table, checked);
}

void embedding_token_gradient(const Tensor& token_gradient, Write write, const Tensor& out_gradient,
                              const Tensor& tokens, const VocabularyPart& part) {
  const Call call("embedding_token_gradient", out_gradient, token_gradient, tokens);
  const VocabularyPart checked = require_tokens(call, tokens, out_gradient, token_gradient, part);
  call.run(&Operations::embedding_token_gradient, token_gradient, write, out_gradient, tokens, checked);
}

void embedding_position_gradient(const Tensor& position_gradient, Write write, const Tensor& out_gradient) {
  const Call call("embedding_position_gradient", out_gradient, position_gradient);
  const Shape& shape = out_gradient.shape();  // [B, T, C]
  require(shape.rank() == 3, call.operation(), ": the gradient must be [B, T, C], not ", shape);
  require(has_positions(position_gradient, out_gradient, shape[1]), call.operation(), ": table gradient ",
          position_gradient.shape(), " does not fit ", shape);
  call.run(&Operations::embedding_position_gradient, position_gradient, write, out_gradient, shape[0]);
}

}  // namespace lockstep::kernels
