#include "exercise/subject.hpp"

#include "00_why_many_gpus/3_crossover/crossover.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const plan::Link link{question.get<double>("alpha_seconds"), question.get<double>("bytes_per_second")};
  std::vector<double> sizes;  // a negative one: none
  for (const std::int32_t ranks : question.numbers<std::int32_t>("ranks"))
    sizes.push_back(
        plan::ring_crossover(static_cast<plan::Algorithm>(question.get<int>("other")), ranks, link).value_or(-1));
  Answer result;
  result.set_numbers<double>("sizes", sizes);
  return result;
}

}  // namespace lockstep::exercise
