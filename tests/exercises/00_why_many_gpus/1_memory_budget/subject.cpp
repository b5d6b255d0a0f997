#include "exercise/subject.hpp"

#include <array>

#include "00_why_many_gpus/1_memory_budget/memory_budget.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const plan::MemoryUse use =
      plan::memory_use(question.get<double>("parameters"), static_cast<plan::Precision>(question.get<int>("precision")),
                       static_cast<plan::Sharding>(question.get<int>("sharding")), question.get<int>("ranks"));
  // As floats: the judge compares them up to rounding.
  const std::array<float, 4> bytes = {static_cast<float>(use.weights), static_cast<float>(use.gradients),
                                      static_cast<float>(use.master_weights), static_cast<float>(use.optimizer)};
  Answer result;
  result.set_numbers<float>("bytes", bytes);
  return result;
}

}  // namespace lockstep::exercise
