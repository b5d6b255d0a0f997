#include "exercise/subject.hpp"

#include "06_gpt_ddp/1_distributed_sampler/distributed_sampler.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const ddp::EpochOptions options{
      .sample_count = question.get<std::int64_t>("sample_count"),
      .world_size = question.world_size(),
      .seed = question.get<std::uint64_t>("seed"),
      .epoch = question.get<std::int64_t>("epoch"),
      .remainder = question.get<bool>("drops_remainder") ? ddp::UnevenSamples::kDrop : ddp::UnevenSamples::kPad};
  ddp::EpochOptions before = options;  // of another epoch, of which nothing may be left
  ++before.epoch;
  (void)ddp::indices_of_rank(question.rank(), before);
  const std::vector<std::int64_t> indices = ddp::indices_of_rank(question.rank(), options);
  Answer result;
  result.set("count", static_cast<std::int64_t>(indices.size()));
  result.set_numbers<std::int64_t>("indices", indices);
  return result;
}

}  // namespace lockstep::exercise
