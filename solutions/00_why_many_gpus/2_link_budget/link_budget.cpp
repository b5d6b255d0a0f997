#include "00_why_many_gpus/2_link_budget/link_budget.hpp"

namespace lockstep::plan {

LinkBudget link_budget(const LinkLabel& label, double bytes, int world_size, double computing_seconds) {
  LinkBudget budget;
  // SOLUTION(00.2) link_budget: convert the label; count steps and their bytes; turn both into seconds
  const double bits = label.unit == RateUnit::kGigabits ? 8 : 1;
  const double directions = label.counted == Directions::kBothWays ? 2 : 1;
  budget.bytes_per_second = label.rate * 1e9 / bits / directions;
  const auto step_seconds = [&](double step_bytes) {
    return label.alpha_us * 1e-6 + step_bytes / budget.bytes_per_second;
  };
  // The ring: P - 1 steps to add up, P - 1 to distribute. The star's centre: P - 1 buffers in at once, P - 1 out.
  const int others = world_size - 1;
  const double chunk_bytes = bytes / world_size;
  budget.ring_bytes = 2 * others * chunk_bytes;
  budget.ring_seconds = 2 * others * step_seconds(chunk_bytes);
  budget.star_seconds = others == 0 ? 0 : 2 * step_seconds(others * bytes);
  budget.efficiency = computing_seconds / (computing_seconds + budget.ring_seconds);
  // END SOLUTION
  return budget;
}

}  // namespace lockstep::plan
