#include "run/step.hpp"

#include <algorithm>

#include "autograd/functions.hpp"

namespace lockstep::run {

std::vector<MicroBatch> split_batch(const data::Batch& batch, std::int64_t count, std::uint64_t seed,
                                    std::int64_t step) {
  std::vector<MicroBatch> parts;
  const std::int64_t part_count = std::min(count, batch.size());
  const auto all_targets = static_cast<double>(std::max<std::int64_t>(1, autograd::target_count(batch.targets)));
  for (std::int64_t part = 0; part < part_count; ++part) {
    const std::int64_t begin = part * batch.size() / part_count, end = (part + 1) * batch.size() / part_count;
    const Tensor targets = batch.targets.rows(begin, end);
    const nn::ForwardContext context{.is_training = true,
                                     .seed = seed,
                                     .step = step,
                                     .sample_ids = batch.sample_ids.rows(begin, end).span<std::int64_t>()};
    parts.push_back({batch.inputs.rows(begin, end), targets, context,
                     static_cast<double>(autograd::target_count(targets)) / all_targets});
  }
  return parts;
}

}  // namespace lockstep::run
