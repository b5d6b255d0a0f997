#include "exercise/subject.hpp"

#include "../schedule_answer.hpp"
#include "11_pipeline_parallel/1_one_forward_one_backward/one_forward_one_backward.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  Answer result;
  answer_with(result,
              pipeline::one_forward_one_backward(question.get<int>("ranks"), question.get<int>("micro_batches")));
  return result;
}

}  // namespace lockstep::exercise
