#include "exercise/subject.hpp"

#include "../../never_awaited.hpp"
#include "06_gpt_ddp/3_naive_ddp/naive_ddp.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  std::vector<float> values = question.numbers<float>("values");
  const std::vector<std::int64_t> counts = question.numbers<std::int64_t>("counts");
  const std::vector<std::int64_t> has_gradient = question.numbers<std::int64_t>("has_gradient");
  std::vector<ddp::Gradient> gradients;
  std::span<float> rest = values;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    gradients.push_back({rest.first(static_cast<std::size_t>(counts[i])), has_gradient[i] != 0});
    rest = rest.subspan(static_cast<std::size_t>(counts[i]));
  }
  ddp::average_gradients(gradients, question.collectives());
  std::vector<std::int64_t> has_gradient_now;
  for (const ddp::Gradient& gradient : gradients) has_gradient_now.push_back(gradient.has_gradient ? 1 : 0);
  Answer result;
  result.set(kNeverAwaited, never_awaited(question.collectives()));
  result.set_numbers<float>("values", values);
  result.set_numbers<std::int64_t>("has_gradient", has_gradient_now);
  result.set_numbers<std::int64_t>("all_reduces", question.collectives().issued("all_reduce"));
  return result;
}

}  // namespace lockstep::exercise
