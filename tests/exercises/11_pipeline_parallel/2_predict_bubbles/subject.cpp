#include "exercise/subject.hpp"

#include "11_pipeline_parallel/2_predict_bubbles/predictions.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  using pipeline::Order;
  const pipeline::PipelineRun run{.forward_units = question.numbers<std::int64_t>("forward_units"),
                                  .micro_batches = question.get<std::int64_t>("micro_batches"),
                                  .rows = question.get<std::int64_t>("rows"),
                                  .channels = question.get<std::int64_t>("channels"),
                                  .vocabulary = question.get<std::int64_t>("vocabulary")};
  const auto ranks = static_cast<std::int64_t>(run.forward_units.size());
  std::vector<std::int64_t> units, held, bytes;
  std::vector<double> bubbles;
  for (const std::int64_t order : question.numbers<std::int64_t>("orders")) {
    units.push_back(pipeline::step_units(static_cast<Order>(order), run));
    bubbles.push_back(pipeline::idle_per_busy(static_cast<Order>(order), run));
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      held.push_back(pipeline::most_held(static_cast<Order>(order), run, rank));
  }
  for (std::int64_t rank = 0; rank < ranks; ++rank) bytes.push_back(pipeline::bytes_sent(run, rank));
  Answer result;
  result.set_numbers<std::int64_t>("units", units);
  result.set_numbers<double>("bubbles", bubbles);
  result.set_numbers<std::int64_t>("held", held);
  result.set_numbers<std::int64_t>("bytes", bytes);
  return result;
}

}  // namespace lockstep::exercise
