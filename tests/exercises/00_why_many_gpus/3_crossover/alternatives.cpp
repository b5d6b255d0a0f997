#include "exercise/alternatives.hpp"

#include "00_why_many_gpus/3_crossover/crossover.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"two_lines", "the times of both are lines over the size: where they cross is computed from two points of each"},
    {"traffic", "what crosses the port is taken from one_way_bytes, and the size is computed from seconds"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::plan {

using exercise::is_alternative;

namespace {

// The time of an algorithm is begin + slope * bytes.
struct Line {
  double begin, slope;
};

Line line_of(Algorithm algorithm, int world_size, const Link& link) {
  const AllReduceCost cost = all_reduce_cost(algorithm, world_size, 1);
  if (is_alternative("traffic"))
    return {cost.steps * link.alpha_seconds, cost.steps * cost.bytes_per_step / link.bytes_per_second};
  constexpr double kFar = 1e12;
  const double begin = all_reduce_cost(algorithm, world_size, 0).seconds(link);
  return {begin, (all_reduce_cost(algorithm, world_size, kFar).seconds(link) - begin) / kFar};
}

}  // namespace

std::optional<double> ring_crossover(Algorithm other, int world_size, const Link& link) {
  if (world_size == 1) return 0;
  const Line ring = line_of(Algorithm::kRing, world_size, link), rival = line_of(other, world_size, link);
  constexpr double kRounding = 1e-9;  // of the two points
  const double latency = ring.begin - rival.begin, gain = rival.slope - ring.slope;
  if (latency <= kRounding * rival.begin) return 0;
  if (gain <= kRounding * ring.slope) return std::nullopt;
  return latency / gain;
}

}  // namespace lockstep::plan
