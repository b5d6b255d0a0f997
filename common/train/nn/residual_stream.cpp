#include "nn/residual_stream.hpp"

#include <utility>

#include "autograd/functions.hpp"
#include "base/error.hpp"

namespace lockstep::nn {

using autograd::Variable;

ResidualStream::ResidualStream(Variable start) : sum_(std::move(start)) {}

ResidualStream::ResidualStream(std::span<const Variable> parts) {
  require(parts.size() == 1 || parts.size() == 2, "nn: a residual stream has one or two parts, not ", parts.size());
  sum_ = parts.front();
  if (parts.size() == 2) waiting_ = parts.back();
}

Variable ResidualStream::normalized(const LayerNorm& norm) {
  if (!waiting_.is_defined()) return norm(sum_);
  autograd::ResidualNorm both = norm.add_forward(sum_, std::exchange(waiting_, {}));
  sum_ = std::move(both.sum);
  return std::move(both.normalized);
}

void ResidualStream::add(Variable branch) {
  (void)sum();
  waiting_ = std::move(branch);
}

Variable ResidualStream::sum() {
  if (waiting_.is_defined()) sum_ = autograd::add(std::move(sum_), std::exchange(waiting_, {}));
  return sum_;
}

std::vector<Variable> ResidualStream::take() {
  std::vector<Variable> parts;
  parts.push_back(std::move(sum_));
  if (waiting_.is_defined()) parts.push_back(std::exchange(waiting_, {}));
  return parts;
}

}  // namespace lockstep::nn
