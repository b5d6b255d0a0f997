#include "exercise/subject.hpp"

#include "11_pipeline_parallel/1_one_forward_one_backward/one_forward_one_backward.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const pipeline::Schedule schedule =
      pipeline::one_forward_one_backward(question.get<int>("ranks"), question.get<int>("micro_batches"));
  std::vector<std::int32_t> rows;  // four numbers an action
  for (std::size_t rank = 0; rank < schedule.size(); ++rank)
    for (const pipeline::Action& action : schedule[rank])
      rows.insert(rows.end(),
                  {static_cast<int>(rank), static_cast<int>(action.pass), action.stage, action.micro_batch});
  Answer result;
  result.set("ranks", static_cast<std::int64_t>(schedule.size()));
  result.set_numbers<std::int32_t>("actions", rows);
  return result;
}

}  // namespace lockstep::exercise
