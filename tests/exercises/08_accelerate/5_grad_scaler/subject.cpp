#include "exercise/subject.hpp"

#include <algorithm>
#include <limits>

#include "../../never_awaited.hpp"
#include "08_accelerate/5_grad_scaler/grad_scaler.hpp"

namespace lockstep::exercise {
namespace {

// The nearest float16: 11 binary digits, of which the last is at least 2^-24.
double rounded_to_half(double value) {
  constexpr double kLargest = 65504, kLastDigit = 0x1p-24;
  if (std::isnan(value)) return value;
  if (std::abs(value) > kLargest) return std::copysign(std::numeric_limits<double>::infinity(), value);
  int exponent = 0;
  (void)std::frexp(value, &exponent);
  const double digit = std::max(std::ldexp(1.0, exponent - 11), kLastDigit);
  return std::nearbyint(value / digit) * digit;
}

// The gradient in step s is row s of what the question says. Keeps the gradient of each update.
class GivenReplica final : public accelerate::HalfReplica {
 public:
  GivenReplica(std::vector<double> gradients, std::size_t count) : gradients_(std::move(gradients)), gradient_(count) {}

  void backward(double scale) override {
    for (std::size_t i = 0; i < gradient_.size(); ++i)
      gradient_[i] = static_cast<float>(rounded_to_half(scale * gradients_.at(steps_ * gradient_.size() + i)));
    ++steps_;
  }
  [[nodiscard]] std::span<float> gradient() noexcept override { return gradient_; }
  void step() override { used.insert(used.end(), gradient_.begin(), gradient_.end()); }

  std::vector<float> used;  // [updates, count]

 private:
  std::vector<double> gradients_;
  std::vector<float> gradient_;
  std::size_t steps_ = 0;
};

}  // namespace

Answer answer(Question& question) {
  const auto steps = question.get<std::int64_t>("steps");
  const std::vector<double> gradients = question.numbers<double>("gradients");
  const auto count = gradients.size() / static_cast<std::size_t>(steps);
  GivenReplica replica(gradients, count);
  accelerate::ScalerState state{.scale = question.get<double>("scale"),
                                .good_steps = question.get<std::int64_t>("good_steps")};
  const accelerate::ScalerOptions options{.growth_factor = question.get<double>("growth_factor"),
                                          .backoff_factor = question.get<double>("backoff_factor"),
                                          .growth_interval = question.get<std::int64_t>("growth_interval"),
                                          .max_norm = question.get<double>("max_norm")};
  std::vector<std::int64_t> returned, updates;
  std::vector<double> scales;
  for (std::int64_t step = 0; step < steps; ++step) {
    returned.push_back(accelerate::scaled_step(replica, options, state, question.collectives()) ? 1 : 0);
    updates.push_back(static_cast<std::int64_t>(replica.used.size() / count));
    scales.push_back(state.scale);
  }
  Answer result;
  result.set(kNeverAwaited, never_awaited(question.collectives()));
  result.set_numbers<std::int64_t>("returned", returned);
  result.set_numbers<std::int64_t>("updates", updates);
  result.set_numbers<double>("scales", scales);
  result.set_numbers<float>("used", replica.used);
  return result;
}

}  // namespace lockstep::exercise
