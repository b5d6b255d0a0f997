#include "exercise/subject.hpp"

#include "05_gpt_single_device/3_layer_norm_backward/layer_norm_backward.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const auto input = question.numbers<float>("input"), mean = question.numbers<float>("mean");
  const auto reciprocal_deviation = question.numbers<float>("reciprocal_deviation");
  const auto gain = question.numbers<float>("gain"), out_gradient = question.numbers<float>("out_gradient");
  auto gain_gradient = question.numbers<float>("gain_gradient");
  auto bias_gradient = question.numbers<float>("bias_gradient");
  std::vector<float> input_gradient(input.size(), static_cast<float>(question.get<double>("fill")));
  kernels::layer_norm_backward(input_gradient, gain_gradient, bias_gradient, out_gradient,
                               {input, mean, reciprocal_deviation, gain});
  Answer result;
  result.set_numbers<float>("input_gradient", input_gradient);
  result.set_numbers<float>("gain_gradient", gain_gradient);
  result.set_numbers<float>("bias_gradient", bias_gradient);
  return result;
}

}  // namespace lockstep::exercise
