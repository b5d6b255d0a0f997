#include "11_pipeline_parallel/4_hold_what_fits/hold_what_fits.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace lockstep::pipeline {

std::vector<std::int64_t> bytes_during(std::span<const Action> actions, const StageBytes& bytes) {
  std::vector<std::int64_t> result;
  // TODO(11.4): what is there before the pass, during it, and after it
  lockstep::todo("11.4 bytes_during");
  return result;
}

int most_that_fit(const StageBytes& bytes, std::int64_t budget) {
  // TODO(11.4): which pass needs most?
  lockstep::todo("11.4 most_that_fit");
}

Schedule schedule_within(int micro_batches, std::span<const int> most_held) {
  Schedule schedule(most_held.size());
  // TODO(11.4): when does each pass begin?
  lockstep::todo("11.4 schedule_within");
  return schedule;
}

}  // namespace lockstep::pipeline
