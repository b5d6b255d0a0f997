#include "exercise/subject.hpp"

#include <algorithm>
#include <string>

#include "../schedule_answer.hpp"
#include "11_pipeline_parallel/4_hold_what_fits/hold_what_fits.hpp"

namespace lockstep::exercise {
namespace {

using Numbers = std::vector<std::int64_t>;

// The stages of all ranks, four numbers each.
std::vector<pipeline::StageBytes> stages_of(const Question& question) {
  std::vector<pipeline::StageBytes> stages;
  const Numbers numbers = question.numbers<std::int64_t>("stages");
  for (std::size_t i = 0; i + 3 < numbers.size(); i += 4)
    stages.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  return stages;
}

Answer bytes_of_list(const Question& question) {
  std::vector<pipeline::Action> actions;
  const Numbers numbers = question.numbers<std::int64_t>("actions");  // pass and micro-batch
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2)
    actions.push_back(
        {static_cast<pipeline::Pass>(numbers[i]), question.get<int>("stage"), static_cast<int>(numbers[i + 1])});
  const Numbers bytes = pipeline::bytes_during(actions, stages_of(question).front());
  Answer result;
  result.set_numbers<std::int64_t>("bytes", bytes);
  return result;
}

// One number for each rank.
std::vector<int> fitting(const Question& question) {
  const std::vector<pipeline::StageBytes> stages = stages_of(question);
  const Numbers budgets = question.numbers<std::int64_t>("budgets");
  std::vector<int> most;
  for (std::size_t i = 0; i < stages.size(); ++i) most.push_back(pipeline::most_that_fit(stages[i], budgets.at(i)));
  return most;
}

// From bytes to a schedule, with nothing but the learner's functions.
Answer schedule_in_budgets(const Question& question) {
  const std::vector<int> most = fitting(question);
  Answer result;
  result.set_numbers<std::int32_t>("most", std::vector<std::int32_t>(most.begin(), most.end()));
  if (std::ranges::min(most) < 1) return result;
  const pipeline::Schedule schedule = pipeline::schedule_within(question.get<int>("micro_batches"), most);
  answer_with(result, schedule);
  const std::vector<pipeline::StageBytes> stages = stages_of(question);
  Numbers peaks;
  for (std::size_t rank = 0; rank < std::min(schedule.size(), stages.size()); ++rank) {
    const Numbers bytes = pipeline::bytes_during(schedule[rank], stages[rank]);
    peaks.push_back(bytes.empty() ? 0 : std::ranges::max(bytes));
  }
  result.set_numbers<std::int64_t>("peaks", peaks);
  return result;
}

}  // namespace

Answer answer(Question& question) {
  const auto what = question.get<std::string>("what");
  if (what == "bytes") return bytes_of_list(question);
  if (what == "budgets") return schedule_in_budgets(question);
  Answer result;
  if (what == "fit") {
    const std::vector<int> most = fitting(question);
    result.set_numbers<std::int32_t>("most", std::vector<std::int32_t>(most.begin(), most.end()));
  } else {
    const auto limits = question.numbers<std::int32_t>("most_held");
    answer_with(result, pipeline::schedule_within(question.get<int>("micro_batches"), limits));
  }
  return result;
}

}  // namespace lockstep::exercise
