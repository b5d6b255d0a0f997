#include "06_gpt_ddp/ddp/parameter_usage.hpp"

namespace lockstep::ddp {
namespace {

void write_zeros(const nn::NamedParameter& named) { named.parameter.begin_gradient_write().first.fill_zero(); }

}  // namespace

ParameterUsage::ParameterUsage(std::span<const nn::NamedParameter> parameters, const DdpOptions& options)
    : parameters_(parameters.begin(), parameters.end()),
      options_(options),
      is_used_(parameters.size()),
      is_filled_(parameters.size()) {}

void ParameterUsage::fill_if_missing(std::size_t parameter) {
  if (parameters_[parameter].parameter.has_gradient()) return;
  write_zeros(parameters_[parameter]);
  is_filled_[parameter] = true;
}

void ParameterUsage::fill_all() {
  for (const nn::NamedParameter& named : parameters_) write_zeros(named);
  is_used_.assign(parameters_.size(), false);
}

void ParameterUsage::find_faults(std::span<GradientFault> faults) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    is_used_[i] = parameters_[i].parameter.has_gradient() && !is_filled_[i];
    if (!is_used_[i] && !may_be_unused()) faults[i] = GradientFault::kMissing;
  }
  if (!options_.static_graph) return;
  if (is_used_first_.empty()) is_used_first_ = is_used_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const bool is_new = !is_unused_everywhere_.empty() && is_unused_everywhere_[i] && is_used_[i];
    if (is_new || is_used_[i] != is_used_first_[i]) faults[i] = GradientFault::kUnexpected;
  }
}

void ParameterUsage::apply_usage_counts(std::span<const std::int64_t> users) {
  is_unused_everywhere_.resize(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) is_unused_everywhere_[i] = users[i] == 0;
}

void ParameterUsage::end_step() {
  for (std::size_t i = 0; i < is_unused_everywhere_.size(); ++i) {
    if (is_unused_everywhere_[i]) parameters_[i].parameter.zero_grad();
  }
  is_filled_.assign(parameters_.size(), false);
}

}  // namespace lockstep::ddp
