#include "00_why_many_gpus/2_link_budget/link_budget.hpp"

namespace lockstep::plan {

LinkBudget link_budget(const LinkLabel& label, double bytes, int world_size, double computing_seconds) {
  LinkBudget budget;
  // SOLUTION(00.2) link_budget: convert the label; count messages and their bytes; turn both into seconds
  const double bits = label.unit == RateUnit::kGigabits ? 8 : 1;
  const double directions = label.counted == Directions::kBothWays ? 2 : 1;
  budget.bytes_per_second = label.rate * 1e9 / bits / directions;
  const auto message_seconds = [&](double message_bytes) {
    return label.alpha_us * 1e-6 + message_bytes / budget.bytes_per_second;
  };
  // The ring: P - 1 steps to add up, P - 1 to distribute. The star's centre: P - 1 buffers in, P - 1 out.
  const int messages = 2 * (world_size - 1);
  const double chunk_bytes = bytes / world_size;
  budget.ring_bytes = messages * chunk_bytes;
  budget.ring_seconds = messages * message_seconds(chunk_bytes);
  budget.star_seconds = messages * message_seconds(bytes);
  budget.efficiency = computing_seconds / (computing_seconds + budget.ring_seconds);
  // END SOLUTION
  return budget;
}

}  // namespace lockstep::plan
