#include "exercise/subject.hpp"

#include "12_three_dimensions/3_bytes_by_axis/bytes_by_axis.hpp"

namespace lockstep::exercise {

// Pipeline, data and tensor, stage by stage.
Answer answer(Question& question) {
  const bytes_by_axis::GridRun run{.pipeline = question.get<std::int64_t>("pipeline"),
                                   .data = question.get<std::int64_t>("data"),
                                   .tensor = question.get<std::int64_t>("tensor"),
                                   .blocks = question.get<std::int64_t>("blocks"),
                                   .rows = question.get<std::int64_t>("rows"),
                                   .channels = question.get<std::int64_t>("channels"),
                                   .vocabulary = question.get<std::int64_t>("vocabulary"),
                                   .micro_batches = question.get<std::int64_t>("micro_batches")};
  std::vector<std::int64_t> bytes;
  for (std::int64_t stage = 0; stage < run.pipeline; ++stage) {
    const bytes_by_axis::BytesByAxis own = bytes_by_axis::bytes_sent(run, stage);
    bytes.insert(bytes.end(), {own.pipeline, own.data, own.tensor});
  }
  Answer result;
  result.set_numbers<std::int64_t>("bytes", bytes);
  return result;
}

}  // namespace lockstep::exercise
