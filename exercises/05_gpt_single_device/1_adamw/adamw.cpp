#include "05_gpt_single_device/1_adamw/adamw.hpp"

#include <cmath>

namespace lockstep::optim {

void adamw_step(std::span<float> parameter, std::span<float> first_moment, std::span<float> second_moment,
                std::span<const float> gradient, const AdamWSettings& settings) {
  // TODO(05.1): shrink each parameter, update its two moments, correct their bias, take the step
  lockstep::todo("05.1 adamw_step");
}

}  // namespace lockstep::optim
