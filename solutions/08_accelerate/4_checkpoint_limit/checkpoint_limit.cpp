#include "08_accelerate/4_checkpoint_limit/checkpoint_limit.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>

namespace lockstep::accelerate {

void save_checkpoint(CheckpointStore& store, std::int64_t number, int total_limit) {
  // SOLUTION(08.4) save_checkpoint: write, flush and verify under another name; rename; only then remove old ones
  try {
    store.write(kIncomplete);
    store.flush(kIncomplete);
    if (!store.verify(kIncomplete))
      throw IoError(concat("checkpoint ", number, " on the disk is not what was to be written"), EIO);
  } catch (const IoError&) {
    store.remove(kIncomplete);
    throw;
  }
  store.rename(kIncomplete, checkpoint_name(number));  // from here on it counts, and old ones may go

  if (total_limit == 0) return;
  std::vector<std::int64_t> numbers;
  for (const std::string& name : store.list())
    if (const auto found = number_of(name)) numbers.push_back(*found);
  std::ranges::sort(numbers, std::greater{});
  for (std::size_t i = static_cast<std::size_t>(total_limit); i < numbers.size(); ++i)
    store.remove(checkpoint_name(numbers[i]));
  // END SOLUTION
}

}  // namespace lockstep::accelerate
