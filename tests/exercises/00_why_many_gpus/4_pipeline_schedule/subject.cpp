#include "exercise/subject.hpp"

#include <algorithm>
#include <tuple>

#include "00_why_many_gpus/4_pipeline_schedule/pipeline_schedule.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const int ranks = question.get<int>("ranks"), micro_batches = question.get<int>("micro_batches");
  Answer result;
  if (question.get<std::string>("what") == "bubble") {
    result.set("bubble", plan::bubble(ranks, micro_batches));
    return result;
  }
  std::vector<plan::Task> tasks = plan::pipeline_schedule(ranks, micro_batches);
  // Their order is free.
  std::ranges::sort(tasks, {}, [](const plan::Task& task) { return std::tuple(task.rank, task.begin, task.end); });
  std::vector<std::int32_t> rows;  // five numbers a task
  for (const plan::Task& task : tasks)
    rows.insert(rows.end(), {task.rank, task.micro_batch, static_cast<int>(task.pass), task.begin, task.end});
  result.set_numbers<std::int32_t>("tasks", rows);
  return result;
}

}  // namespace lockstep::exercise
