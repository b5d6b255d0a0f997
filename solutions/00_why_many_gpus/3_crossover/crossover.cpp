#include "00_why_many_gpus/3_crossover/crossover.hpp"

namespace lockstep::plan {

std::optional<double> ring_crossover(Algorithm other, int world_size, const Link& link) {
  // SOLUTION(00.3) ring_crossover: find where two lines cross: latencies * alpha + crossings * bytes / beta
  const AllReduceCost ring = all_reduce_cost(Algorithm::kRing, world_size, 1);
  const AllReduceCost rival = all_reduce_cost(other, world_size, 1);
  const double more_latencies = ring.steps - rival.steps;
  const double fewer_crossings = rival.steps * rival.bytes_per_step - ring.steps * ring.bytes_per_step;
  if (more_latencies <= 0) return 0;  // no more latencies, and no algorithm sends fewer bytes than the ring
  if (fewer_crossings <= 0) return std::nullopt;
  return more_latencies / fewer_crossings * link.alpha_seconds * link.bytes_per_second;
  // END SOLUTION
}

}  // namespace lockstep::plan
