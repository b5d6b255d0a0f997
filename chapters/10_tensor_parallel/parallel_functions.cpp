#include "10_tensor_parallel/parallel_functions.hpp"

#include <utility>

#include "autograd/node.hpp"
#include "base/error.hpp"
#include "comm/buffer.hpp"

namespace lockstep::tensor_parallel {
namespace {

// Everybody waits at once, so no worker thread need wake up.
comm::CollectiveOptions named(std::string_view tag) { return {.run_on = comm::RunOn::kCaller, .tag = tag}; }

Tensor empty_like(const Tensor& tensor, const Shape& shape) {
  return Tensor::empty(shape, tensor.dtype(), tensor.device());
}

// In the memory of `partial`, if nobody else refers to it.
Tensor summed(Tensor partial, Group& group, std::string_view tag) {
  if (!autograd::is_exclusive(partial)) partial = partial.clone();
  group.all_reduce(comm::buffer_of(partial), comm::ReduceOp::kSum, named(tag)).synchronize();
  return partial;
}

}  // namespace

Tensor gathered(const Tensor& rows, Group& group, std::string_view tag) {
  const Tensor all = empty_like(rows, {rows.shape()[0] * group.world_size(), rows.shape()[1]});
  group.all_gather(comm::buffer_of(all), comm::buffer_of(rows), named(tag)).synchronize();
  return all;
}

Tensor scattered(const Tensor& partial, Group& group, std::string_view tag) {
  const std::int64_t channels = partial.shape()[-1];
  const std::int64_t rows = channels == 0 ? 0 : partial.count() / channels;
  require(rows % group.world_size() == 0, "tensor parallel: ", group.world_size(), " ranks cannot divide ", rows,
          " rows equally");
  const Tensor own = empty_like(partial, {rows / group.world_size(), channels});
  group.reduce_scatter(comm::buffer_of(own), comm::buffer_of(partial), comm::ReduceOp::kSum, named(tag)).synchronize();
  return own;
}

Variable copy_to_ranks(const Variable& input, Group& group) {
  if (group.world_size() == 1) return input;
  return autograd::record(input.value(), {input}, [input = input.without_value(), &group](Tensor gradient) {
    input.accumulate_gradient(summed(std::move(gradient), group, "copy_to_ranks backward"));
  });
}

Variable sum_over_ranks(const Variable& partial, Group& group) {
  if (group.world_size() == 1) return partial;
  return autograd::record(
      summed(partial.value().clone(), group, "sum_over_ranks"), {partial},
      [partial = partial.without_value()](Tensor gradient) { partial.accumulate_gradient(std::move(gradient)); });
}

Variable gather_rows(const Variable& input, Group& group) {
  if (group.world_size() == 1) return input;
  require(input.shape().rank() == 2, "tensor parallel: gather_rows() needs [R/t, C], not ", input.shape());
  return autograd::record(gathered(input.value(), group, "gather_rows"), {input},
                          [input = input.without_value(), &group](const Tensor& gradient) {
                            input.accumulate_gradient(scattered(gradient, group, "gather_rows backward"));
                          });
}

Variable scatter_sum(const Variable& partial, Group& group) {
  if (group.world_size() == 1) return partial;
  return autograd::record(
      scattered(partial.value(), group, "scatter_sum"), {partial},
      [partial = partial.without_value(), shape = partial.shape(), &group](const Tensor& gradient) {
        partial.accumulate_gradient(gathered(gradient, group, "scatter_sum backward").reshape(shape));
      });
}

}  // namespace lockstep::tensor_parallel
