#include "exercise/subject.hpp"

#include "10_tensor_parallel/4_predict_traffic/traffic.hpp"

namespace lockstep::exercise {

// All-reduces, all-gathers, reduce-scatters, bytes.
Answer answer(Question& question) {
  using tensor_parallel::Rows;
  const tensor_parallel::TensorRun run{.blocks = question.get<std::int64_t>("blocks"),
                                       .rows = question.get<std::int64_t>("rows"),
                                       .channels = question.get<std::int64_t>("channels"),
                                       .vocabulary = question.get<std::int64_t>("vocabulary"),
                                       .ranks = question.get<std::int64_t>("ranks"),
                                       .micro_batches = question.get<std::int64_t>("micro_batches"),
                                       .layout = question.get<bool>("is_divided") ? Rows::kDivided : Rows::kWhole,
                                       .recomputes_blocks = question.get<bool>("recomputes_blocks")};
  const tensor_parallel::CollectiveCounts counts = tensor_parallel::collectives(run);
  Answer result;
  result.set_numbers<std::int64_t>(
      "counts", std::vector<std::int64_t>{counts.all_reduces, counts.all_gathers, counts.reduce_scatters});
  result.set("bytes", tensor_parallel::bytes_sent(run));
  return result;
}

}  // namespace lockstep::exercise
