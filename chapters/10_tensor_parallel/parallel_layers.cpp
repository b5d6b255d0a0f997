#include "10_tensor_parallel/parallel_layers.hpp"

#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"
#include "kernels/matmul.hpp"

namespace lockstep::tensor_parallel {

namespace {

// conv1d(gather_rows(input), weight, bias), which gathers again in backward: in between, a rank keeps its own rows
// only.
Variable conv1d_of_gathered(const Variable& given, const Variable& weight, const Variable& bias, Group& group) {
  const Variable input = autograd::product_operand(given);  // [R/t, in]
  const Tensor x = gathered(input.value(), group, "gather_rows");
  const Tensor w = autograd::weight_for_product(weight, x.dtype());                          // [in, out/t]
  const Tensor output = Tensor::empty({x.shape()[0], w.shape()[1]}, x.dtype(), x.device());  // [R, out/t]
  kernels::linear_forward(output, x, w, kernels::Transpose::kNo, bias.value());
  return autograd::record(output, {input, weight, bias},
                          [input, weight = weight.without_value(), bias = bias.without_value(),
                           saved = autograd::SavedWeight(weight, w), &group](const Tensor& d_output) {
                            const Tensor again = gathered(input.value(), group, "gather_rows again");  // [R, in]
                            if (weight.requires_grad()) {
                              const auto [d_weight, write] = weight.begin_gradient_write();
                              kernels::linear_weight_gradient(d_weight, write, again, d_output,
                                                              kernels::Transpose::kNo);
                            }
                            if (bias.requires_grad()) {
                              const auto [d_bias, write] = bias.begin_gradient_write();
                              kernels::bias_gradient(d_bias, write, d_output);
                            }
                            // In the memory of the input, which nobody reads after this.
                            kernels::linear_input_gradient(again, kernels::Write::kOverwrite, d_output, saved.get(),
                                                           kernels::Transpose::kNo);
                            if (input.requires_grad())
                              input.accumulate_gradient(scattered(again, group, "gather_rows backward"));
                          });
}

}  // namespace

Range share_of(std::int64_t count, const Group& group) {
  const auto border = [&](std::int64_t rank) { return count * rank / group.world_size(); };
  return {border(group.rank()), border(group.rank() + 1)};
}

Slice columns_of_rank(const Shape& whole, int packed, const Group& group) {
  if (group.world_size() == 1) return Slice::of(whole);
  const std::int64_t width = whole[-1] / packed;
  require(whole[-1] % packed == 0 && width % group.world_size() == 0, "tensor parallel: ", group.world_size(),
          " ranks cannot divide ", packed, " x ", width, " columns equally");
  const Range own = share_of(width, group);
  std::vector<Range> columns;
  for (std::int64_t first = 0; first < whole[-1]; first += width)
    columns.push_back({first + own.begin, first + own.end});
  return Slice::of_columns(whole, columns);
}

ColumnParallel::ColumnParallel(std::int64_t inputs, std::int64_t outputs, int packed, const nn::InitScope& scope,
                               Group& group, RowLayout rows)
    : group_(group), rows_(rows) {
  const Slice weight = columns_of_rank({inputs, outputs}, packed, group);
  const Slice bias = columns_of_rank({outputs}, packed, group);
  weight_ = register_part("weight", scope.normal("weight", weight, 0.02), weight);
  bias_ = register_part("bias", scope.constant(bias.shape(), 0), bias);
}

Variable ColumnParallel::entering(const Variable& input) const {
  return rows_ == RowLayout::kDivided ? gather_rows(input, group_) : copy_to_ranks(input, group_);
}

Variable ColumnParallel::forward(const Variable& input) const {
  if (rows_ == RowLayout::kDivided && group_.world_size() > 1) return conv1d_of_gathered(input, weight_, bias_, group_);
  return autograd::conv1d(entering(input), weight_, bias_);
}

Variable ColumnParallel::forward_of_gelu(const Variable& input) const {
  return call(input, [this](const Variable& given) { return autograd::gelu_conv1d(entering(given), weight_, bias_); });
}

RowParallel::RowParallel(std::int64_t inputs, std::int64_t outputs, double deviation, const nn::InitScope& scope,
                         Group& group, RowLayout rows)
    : group_(group), rows_(rows) {
  require(inputs % group.world_size() == 0, "tensor parallel: ", group.world_size(), " ranks cannot divide ", inputs,
          " rows equally");
  const Slice weight = Slice::of_rows({inputs, outputs}, share_of(inputs, group));
  weight_ = register_part("weight", scope.normal("weight", weight, deviation), weight);
  if (group.rank() == 0) bias_ = register_parameter("bias", scope.constant({outputs}, 0));
}

Variable RowParallel::leaving(const Variable& partial) const {
  return rows_ == RowLayout::kDivided ? scatter_sum(partial, group_) : sum_over_ranks(partial, group_);
}

Variable RowParallel::forward(const Variable& input) const { return leaving(autograd::conv1d(input, weight_, bias_)); }

Variable RowParallel::forward_of_gelu(const Variable& input) const {
  return call(input, [this](const Variable& given) { return leaving(autograd::gelu_conv1d(given, weight_, bias_)); });
}

}  // namespace lockstep::tensor_parallel
