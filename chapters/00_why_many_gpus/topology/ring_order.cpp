#include "00_why_many_gpus/topology/ring_order.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace lockstep::plan {
namespace {

bool is_better(const RingOrder& a, const RingOrder& b) {
  return a.weakest != b.weakest ? a.weakest > b.weakest : a.sum > b.sum;
}

// Starts at `first` and always goes on to the remaining GPU with the strongest path; the lowest number breaks ties.
std::vector<int> nearest_first(const Topology& topology, int first) {
  std::vector<int> order = {first}, left(static_cast<std::size_t>(topology.gpu_count()));
  std::iota(left.begin(), left.end(), 0);
  std::erase(left, first);
  while (!left.empty()) {
    const auto nearest =
        std::ranges::max_element(left, {}, [&](int gpu) { return topology.path(order.back(), gpu).strength(); });
    order.push_back(*nearest);
    left.erase(nearest);
  }
  return order;
}

}  // namespace

RingOrder ring_along(const Topology& topology, std::vector<int> gpus) {
  require(gpus.size() >= 2, "a ring has at least 2 GPUs, not ", gpus.size());
  RingOrder ring{std::move(gpus), true, 0, 0};
  for (std::size_t i = 0; i < ring.gpus.size(); ++i) {
    const int next = ring.gpus[(i + 1) % ring.gpus.size()];  // the last one's neighbour is the first
    const int strength = topology.path(ring.gpus[i], next).strength();
    ring.weakest = i == 0 ? strength : std::min(ring.weakest, strength);
    ring.sum += strength;
  }
  return ring;
}

RingOrder propose_ring(const Topology& topology) {
  constexpr int kExact = 9;  // 8! orders that begin with GPU0; a tenth GPU would mean 9 times as many
  std::vector<int> order(static_cast<std::size_t>(topology.gpu_count()));
  std::iota(order.begin(), order.end(), 0);
  RingOrder best = ring_along(topology, order);
  if (topology.gpu_count() <= kExact) {
    while (std::next_permutation(order.begin() + 1, order.end())) {  // a ring may begin anywhere, so it begins at GPU0
      RingOrder ring = ring_along(topology, order);
      if (is_better(ring, best)) best = std::move(ring);
    }
    return best;
  }
  for (int first = 0; first < topology.gpu_count(); ++first) {
    RingOrder ring = ring_along(topology, nearest_first(topology, first));
    if (is_better(ring, best)) best = std::move(ring);
  }
  best.is_exact = false;
  return best;
}

}  // namespace lockstep::plan
