#include "exercise/alternatives.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "05_gpt_single_device/1_adamw/adamw.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"as_pytorch", "floats throughout, with the corrections moved into the step size and the denominator"},
    {"in_passes",
     "a pass for each array, from the back, with powers by multiplication and the decay taken off together with the "
     "step"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::optim {

using exercise::is_alternative;

namespace {

void step_as_pytorch(std::span<float> parameter, std::span<float> first, std::span<float> second,
                     std::span<const float> gradient, const AdamWSettings& settings) {
  const auto beta1 = static_cast<float>(settings.beta1), beta2 = static_cast<float>(settings.beta2);
  const auto correction1 = static_cast<float>(1 - std::pow(settings.beta1, settings.step));
  const auto root2 = static_cast<float>(std::sqrt(1 - std::pow(settings.beta2, settings.step)));
  const float step_size = static_cast<float>(settings.learning_rate) / correction1;
  for (std::size_t i = 0; i < parameter.size(); ++i) {
    parameter[i] *= static_cast<float>(1 - settings.learning_rate * settings.weight_decay);
    first[i] += (1 - beta1) * (gradient[i] - first[i]);
    second[i] = second[i] * beta2 + (1 - beta2) * gradient[i] * gradient[i];
    parameter[i] -= step_size * first[i] / (std::sqrt(second[i]) / root2 + static_cast<float>(settings.epsilon));
  }
}

}  // namespace

void adamw_step(std::span<float> parameter, std::span<float> first_moment, std::span<float> second_moment,
                std::span<const float> gradient, const AdamWSettings& settings) {
  if (is_alternative("as_pytorch")) return step_as_pytorch(parameter, first_moment, second_moment, gradient, settings);
  double power1 = 1, power2 = 1;
  for (std::int64_t step = 0; step < settings.step; ++step) {
    power1 *= settings.beta1;
    power2 *= settings.beta2;
  }
  std::vector<double> numerator(parameter.size());
  for (std::size_t i = parameter.size(); i-- > 0;) {
    const double moment = settings.beta1 * first_moment[i] + (1 - settings.beta1) * gradient[i];
    first_moment[i] = static_cast<float>(moment);
    numerator[i] = moment / (1 - power1);
  }
  for (std::size_t i = parameter.size(); i-- > 0;) {
    const double g = gradient[i], moment = settings.beta2 * second_moment[i] + (1 - settings.beta2) * g * g;
    second_moment[i] = static_cast<float>(moment);
    const double step = numerator[i] / (std::sqrt(moment / (1 - power2)) + settings.epsilon);
    parameter[i] -= static_cast<float>(settings.learning_rate * (step + settings.weight_decay * parameter[i]));
  }
}

}  // namespace lockstep::optim
