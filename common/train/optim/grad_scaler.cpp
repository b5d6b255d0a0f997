#include "optim/grad_scaler.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "autograd/node.hpp"
#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/optimizer.hpp"

namespace lockstep::optim {
namespace {

using nlohmann::json;

// The problem with the options; empty: none.
std::string fault_of(const GradScalerOptions& options) {
  const auto& [scale, growth, backoff, interval, enabled, any_rank] = options;
  if (!(scale > 0 && std::isfinite(scale))) return concat("a scale of ", scale, " is not a finite number above 0");
  if (!(growth > 1 && std::isfinite(growth))) return concat("growth_factor is ", growth, ", and must be above 1");
  if (!(backoff > 0 && backoff < 1)) return concat("backoff_factor is ", backoff, ", and must be between 0 and 1");
  if (interval < 1) return concat("growth_interval is ", interval, ", and must be at least 1");
  return "";
}

std::vector<Tensor> gradients_of(const Optimizer& optimizer) {
  std::vector<Tensor> gradients;
  for (const nn::ParameterGroup& group : optimizer.groups()) {
    for (const nn::NamedParameter& named : group.parameters) {
      if (named.parameter.has_gradient()) gradients.push_back(named.parameter.gradient());
    }
  }
  return gradients;
}

const json& number_in(const json& state, const char* name) {
  if (!state.is_object() || !state.contains(name) || !state.at(name).is_number()) {
    throw FormatError(concat("gradient scaler: its saved state has no number '", name,
                             "'; was it saved by a scaler that was not enabled?"));
  }
  return state.at(name);
}

std::int64_t count_in(const json& state, const char* name) {
  const json& count = number_in(state, name);
  if (!count.is_number_integer()) throw FormatError(concat("gradient scaler: saved ", name, " is not a whole number"));
  return count.get<std::int64_t>();
}

}  // namespace

GradScaler::GradScaler(GradScalerOptions options) : options_(std::move(options)), scale_(options_.init_scale) {
  const std::string fault = fault_of(options_);
  require(fault.empty(), "gradient scaler: ", fault);
}

autograd::Variable GradScaler::scale(const autograd::Variable& loss) {
  if (!options_.enabled) return loss;
  has_scaled_ = true;
  const Tensor scaled = loss.value().clone();
  kernels::scale(scaled, scale_);
  return autograd::record(scaled, {loss}, [loss = loss.without_value(), factor = scale_](const Tensor& gradient) {
    Tensor larger = autograd::is_exclusive(gradient) ? gradient : gradient.clone();
    kernels::scale(larger, factor);
    loss.accumulate_gradient(std::move(larger));
  });
}

void GradScaler::require_scaled(const char* called) const {
  require(has_scaled_, "gradient scaler: ", called, "() before any scale(); backward() must start from scale(loss)");
}

// The sum of squares of float32 in double precision cannot overflow: it is finite if all elements are.
void GradScaler::unscale(const Optimizer& optimizer) {
  if (!options_.enabled) return;
  require_scaled("unscale");
  if (const auto found = findings_.find(&optimizer); found != findings_.end()) {
    require(!found->second.is_stepped, "gradient scaler: unscale() after step() of the same optimizer; call update() ",
            "between steps");
    throw ContractError("gradient scaler: unscale() a second time since update(); the gradients are unscaled already");
  }
  const std::vector<Tensor> gradients = gradients_of(optimizer);
  const bool is_bad = !std::isfinite(kernels::squared_norm(gradients));
  const auto inverse = static_cast<double>(static_cast<float>(1.0 / scale_));
  for (const Tensor& gradient : gradients) kernels::scale(gradient, inverse);
  findings_[&optimizer] = {.has_gradients = !gradients.empty(),
                           .has_non_finite = options_.any_rank ? options_.any_rank(is_bad) : is_bad};
}

bool GradScaler::step(Optimizer& optimizer, double learning_rate) {
  if (!options_.enabled) {
    optimizer.step(learning_rate);
    return true;
  }
  require_scaled("step");
  if (!is_unscaled(optimizer)) unscale(optimizer);
  Findings& findings = findings_.at(&optimizer);
  require(!findings.is_stepped, "gradient scaler: step() a second time since update()");
  require(findings.has_gradients, "gradient scaler: step() of an optimizer none of whose parameters has a gradient; ",
          "call backward() before");
  findings.is_stepped = true;
  if (findings.has_non_finite) return false;
  optimizer.step(learning_rate);
  return true;
}

void GradScaler::update() {
  if (!options_.enabled) return;
  require_scaled("update");
  bool has_checked = false, has_non_finite = false;
  for (const auto& [optimizer, findings] : findings_) {
    has_checked = has_checked || findings.has_gradients;
    has_non_finite = has_non_finite || findings.has_non_finite;
  }
  require(has_checked, "gradient scaler: update() without a step() or unscale() since the last one");
  findings_.clear();
  if (has_non_finite) {
    scale_ *= options_.backoff_factor;
    growth_tracker_ = 0;
  } else if (++growth_tracker_ >= options_.growth_interval) {
    const double grown = scale_ * options_.growth_factor;
    if (std::isfinite(static_cast<float>(grown))) scale_ = grown;
    growth_tracker_ = 0;
  }
}

json GradScaler::state_dict() const {
  if (!options_.enabled) return json::object();
  return {{"scale", scale_},
          {"growth_factor", options_.growth_factor},
          {"backoff_factor", options_.backoff_factor},
          {"growth_interval", options_.growth_interval},
          {"_growth_tracker", growth_tracker_}};
}

void GradScaler::load_state_dict(const json& state) {
  if (!options_.enabled) return;
  GradScalerOptions loaded = options_;
  loaded.init_scale = number_in(state, "scale").get<double>();
  loaded.growth_factor = number_in(state, "growth_factor").get<double>();
  loaded.backoff_factor = number_in(state, "backoff_factor").get<double>();
  loaded.growth_interval = count_in(state, "growth_interval");
  const std::int64_t tracker = count_in(state, "_growth_tracker");
  const std::string fault = tracker < 0 ? "_growth_tracker is negative" : fault_of(loaded);
  if (!fault.empty()) throw FormatError(concat("gradient scaler: of its saved state, ", fault));
  scale_ = std::exchange(loaded.init_scale, options_.init_scale);
  options_ = std::move(loaded);
  growth_tracker_ = tracker;
  findings_.clear();
}

}  // namespace lockstep::optim
