#include "exercise/alternatives.hpp"

#include <algorithm>
#include <vector>

#include "02_ring_all_reduce/3_chain_broadcast/chain_broadcast.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"counts_segments", "a loop over the numbers of the segments, and a branch for each of the three roles"},
    {"through_a_buffer",
     "segments pass through a buffer of one segment, and are copied to their place after they were sent on"},
    {"simulates_the_steps", "chain_steps() walks along the chain instead of using a formula"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ring {

using exercise::is_alternative;

void broadcast(std::span<float> values, int root, std::int64_t segment_count, const Neighbours& place) {
  if (place.world_size == 1) return;
  const auto size = static_cast<std::size_t>(segment_count);
  const bool is_end = previous_of(root, place.world_size) == place.rank;
  std::vector<float> buffer;
  while (!values.empty()) {
    const std::span<float> segment = values.first(std::min(size, values.size()));
    if (place.rank == root) {
      place.next.send(segment);
    } else if (is_alternative("through_a_buffer")) {
      buffer.resize(segment.size());
      place.previous.receive(buffer);
      if (!is_end) place.next.send(buffer);
      std::ranges::copy(buffer, segment.begin());
    } else {
      place.previous.receive(segment);
      if (!is_end) place.next.send(segment);
    }
    values = values.subspan(segment.size());
  }
}

std::int64_t chain_steps(std::int64_t count, std::int64_t segment_count, int world_size) {
  std::int64_t segments = count / segment_count;
  if (count % segment_count != 0) ++segments;
  if (segments * (world_size - 1) == 0) return 0;
  if (!is_alternative("simulates_the_steps")) return (world_size - 1) + (segments - 1);
  std::int64_t steps = segments;  // until the last segment has left the root
  for (int hop = 2; hop < world_size; ++hop) ++steps;
  return steps;
}

}  // namespace lockstep::ring
