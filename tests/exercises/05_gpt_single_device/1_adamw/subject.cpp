#include "exercise/subject.hpp"

#include "05_gpt_single_device/1_adamw/adamw.hpp"

namespace lockstep::exercise {

// Takes one step for each row of "gradients" and reports the state after each.
Answer answer(Question& question) {
  std::vector<float> parameter = question.numbers<float>("parameter");
  const std::vector<float> gradients = question.numbers<float>("gradients");
  const std::size_t count = parameter.size();
  std::vector<float> first_moment(count), second_moment(count);
  std::vector<float> parameters, first_moments, second_moments;
  optim::AdamWSettings settings{.learning_rate = question.get<double>("learning_rate"),
                                .beta1 = question.get<double>("beta1"),
                                .beta2 = question.get<double>("beta2"),
                                .epsilon = question.get<double>("epsilon"),
                                .weight_decay = question.get<double>("weight_decay")};
  const auto steps = question.get<std::int64_t>("steps");
  for (std::int64_t step = 1; step <= steps; ++step) {
    settings.step = question.get<std::int64_t>("first_step") + step - 1;
    optim::adamw_step(parameter, first_moment, second_moment,
                      std::span(gradients).subspan(static_cast<std::size_t>(step - 1) * count, count), settings);
    parameters.insert(parameters.end(), parameter.begin(), parameter.end());
    first_moments.insert(first_moments.end(), first_moment.begin(), first_moment.end());
    second_moments.insert(second_moments.end(), second_moment.begin(), second_moment.end());
  }
  Answer result;
  result.set_numbers<float>("parameters", parameters);
  result.set_numbers<float>("first_moments", first_moments);
  result.set_numbers<float>("second_moments", second_moments);
  return result;
}

}  // namespace lockstep::exercise
