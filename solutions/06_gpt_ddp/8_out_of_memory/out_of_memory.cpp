#include "06_gpt_ddp/8_out_of_memory/out_of_memory.hpp"

#include <algorithm>
#include <vector>

namespace lockstep::ddp {

std::int64_t step_within_memory(std::int64_t micro_batch_size, LocalStep& step, Collectives& group) {
  // SOLUTION(06.8) step_within_memory: try, ask all ranks whether it fits, and try again together with half of it
  const std::span<float> gradient = step.gradient();
  for (;; micro_batch_size /= 2) {
    std::int64_t has_failed = 0;
    try {
      step.accumulate(micro_batch_size);
    } catch (const OutOfMemory&) {
      has_failed = 1;  // the others do not know yet, and wait in gather_rows()
    }
    const std::vector<std::int64_t> failures = group.gather_rows(std::span<const std::int64_t>(&has_failed, 1));
    const auto first = std::ranges::find(failures, 1);
    if (first == failures.end()) break;
    if (micro_batch_size == 1)
      throw OutOfMemory(concat("a single sample does not fit into the memory of rank ", first - failures.begin()));
    std::ranges::fill(gradient, 0.0F);  // even if it did fit: this rank's share is computed once more
  }
  group.all_reduce(gradient).synchronize();
  for (float& value : gradient) value /= static_cast<float>(group.world_size());
  return micro_batch_size;
  // END SOLUTION
}

}  // namespace lockstep::ddp
