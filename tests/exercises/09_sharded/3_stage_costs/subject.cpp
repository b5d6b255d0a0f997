#include "exercise/subject.hpp"

#include "09_sharded/3_stage_costs/stage_costs.hpp"

namespace lockstep::exercise {

// For each stage from kDdp on: bytes sent, and bytes held of values, gradients and moments.
Answer answer(Question& question) {
  using sharded::Stage;
  const sharded::ShardedRun run{.units = question.numbers<std::int64_t>("units"),
                                .ranks = question.get<int>("ranks"),
                                .micro_batches = question.get<int>("micro_batches"),
                                .most_whole = question.get<int>("most_whole")};
  std::vector<std::int64_t> sent, held;
  for (const Stage stage : {Stage::kDdp, Stage::kZero1, Stage::kZero2, Stage::kZero3}) {
    sent.push_back(sharded::bytes_sent(stage, run));
    const sharded::BytesHeld bytes = sharded::most_bytes_held(stage, run);
    held.insert(held.end(), {bytes.values, bytes.gradients, bytes.moments});
  }
  Answer result;
  result.set_numbers<std::int64_t>("sent", sent);
  result.set_numbers<std::int64_t>("held", held);
  return result;
}

}  // namespace lockstep::exercise
