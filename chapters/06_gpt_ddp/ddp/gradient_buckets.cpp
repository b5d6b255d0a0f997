#include "06_gpt_ddp/ddp/gradient_buckets.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "device/memory_limit.hpp"

namespace lockstep::ddp {
namespace {

std::vector<std::size_t> reverse_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

std::shared_ptr<Storage> allocate_gradients(const std::vector<nn::NamedParameter>& parameters,
                                            comm::ProcessGroup& group) {
  const AllocationPurpose purpose("gradients of all parameters", {}, MemoryNeed::kOfModel);
  return group.allocate(gradient_bytes(parameters), parameters.front().parameter.device());
}

}  // namespace

GradientBuckets::GradientBuckets(std::vector<nn::NamedParameter> parameters, comm::ProcessGroup& group,
                                 const BucketLimits& limits)
    : parameters_(std::move(parameters)), limits_(limits), memory_(allocate_gradients(parameters_, group)) {
  fill(reverse_order(parameters_.size()));
}

void GradientBuckets::fill(std::span<const std::size_t> order) {
  buckets_ = lay_out_buckets(parameters_, order, limits_);
  place_buckets(buckets_, parameters_, memory_);
}

void GradientBuckets::settle(std::span<const std::size_t> ready_order, comm::ProcessGroup& group) {
  std::vector<std::int64_t> order(ready_order.begin(), ready_order.end());
  for (const std::size_t i : reverse_order(parameters_.size())) {
    if (std::ranges::find(ready_order, i) == ready_order.end()) order.push_back(static_cast<std::int64_t>(i));
  }
  group.broadcast(comm::host_buffer(std::span(order)), 0).synchronize();
  fill(std::vector<std::size_t>(order.begin(), order.end()));
  is_settled_ = true;
}

std::vector<std::string> GradientBuckets::order() const {
  return is_settled_ ? names_in_order(buckets_, parameters_) : std::vector<std::string>();
}

void GradientBuckets::set_order(std::span<const std::string> names) {
  if (names.empty()) return;
  fill(indices_of(names, parameters_));
  is_settled_ = true;
}

}  // namespace lockstep::ddp
