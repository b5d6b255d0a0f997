#include "exercise/alternatives.hpp"

#include <algorithm>
#include <vector>

#include "06_gpt_ddp/8_out_of_memory/out_of_memory.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"tells_by_sum", "whether an attempt has worked is told by an all-reduce of one number"},
    {"calls_itself",
     "the next attempt is a call of the function itself, and the shares are divided before they are sent"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_alternative;

std::int64_t step_within_memory(std::int64_t micro_batch_size, LocalStep& step, Collectives& group) {
  const auto ranks = static_cast<float>(group.world_size());
  float failures = 0;
  try {
    step.accumulate(micro_batch_size);
  } catch (const OutOfMemory&) {
    failures = 1;
  }
  if (is_alternative("tells_by_sum")) {
    group.all_reduce({&failures, 1}).synchronize();
  } else {
    const std::vector<std::int64_t> all = group.gather_rows(std::vector<std::int64_t>{failures > 0 ? -1 : 0});
    failures = *std::ranges::min_element(all) < 0 ? 1 : 0;
  }
  if (failures > 0) {
    if (micro_batch_size == 1) throw OutOfMemory("one sample is too much for a rank");
    for (float& value : step.gradient()) value = 0;
    return step_within_memory(micro_batch_size / 2, step, group);
  }
  for (float& value : step.gradient()) value /= ranks;
  group.all_reduce(step.gradient()).synchronize();
  return micro_batch_size;
}

}  // namespace lockstep::ddp
