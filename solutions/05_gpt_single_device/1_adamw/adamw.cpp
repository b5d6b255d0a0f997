#include "05_gpt_single_device/1_adamw/adamw.hpp"

#include <cmath>

namespace lockstep::optim {

void adamw_step(std::span<float> parameter, std::span<float> first_moment, std::span<float> second_moment,
                std::span<const float> gradient, const AdamWSettings& settings) {
  // SOLUTION(05.1) adamw_step: shrink each parameter, update its two moments, correct their bias, take the step
  const auto step = static_cast<double>(settings.step);
  // The moments begin at zero: after `step` steps the weights of the gradients add up to only 1 - beta^step.
  const double correction1 = 1 - std::pow(settings.beta1, step);
  const double correction2 = 1 - std::pow(settings.beta2, step);
  for (std::size_t i = 0; i < parameter.size(); ++i) {
    const double g = gradient[i];
    const double mean = settings.beta1 * first_moment[i] + (1 - settings.beta1) * g;
    const double mean_square = settings.beta2 * second_moment[i] + (1 - settings.beta2) * g * g;
    const double shrunk = parameter[i] * (1 - settings.learning_rate * settings.weight_decay);
    const double direction = mean / correction1 / (std::sqrt(mean_square / correction2) + settings.epsilon);
    parameter[i] = static_cast<float>(shrunk - settings.learning_rate * direction);
    first_moment[i] = static_cast<float>(mean);
    second_moment[i] = static_cast<float>(mean_square);
  }
  // END SOLUTION
}

}  // namespace lockstep::optim
