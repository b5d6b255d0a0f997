#include "00_why_many_gpus/3_crossover/crossover.hpp"

namespace lockstep::plan {

std::optional<double> ring_crossover(Algorithm other, int world_size, const Link& link) {
  // TODO(00.3): find where two lines cross: latencies * alpha + crossings * bytes / beta
  lockstep::todo("00.3 ring_crossover");
}

}  // namespace lockstep::plan
