#include "exercise/subject.hpp"

#include <array>

#include "00_why_many_gpus/2_link_budget/link_budget.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const plan::LinkLabel label{.rate = question.get<double>("rate"),
                              .unit = static_cast<plan::RateUnit>(question.get<int>("unit")),
                              .counted = static_cast<plan::Directions>(question.get<int>("counted")),
                              .alpha_us = question.get<double>("alpha_us")};
  const plan::LinkBudget budget = plan::link_budget(label, question.get<double>("bytes"), question.get<int>("ranks"),
                                                    question.get<double>("computing_seconds"));
  const std::array<double, 5> numbers = {budget.bytes_per_second, budget.ring_bytes, budget.ring_seconds,
                                         budget.star_seconds, budget.efficiency};
  Answer result;
  result.set_numbers<double>("numbers", numbers);
  return result;
}

}  // namespace lockstep::exercise
