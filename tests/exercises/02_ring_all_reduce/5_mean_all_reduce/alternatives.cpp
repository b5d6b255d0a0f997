#include "exercise/alternatives.hpp"

#include <algorithm>
#include <vector>

#include "02_ring_all_reduce/5_mean_all_reduce/mean_all_reduce.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"divides_in_the_last_step", "the last step of the first half adds and divides at once"},
    {"multiplies_by_the_reciprocal", "the finished chunk is multiplied by 1/P"},
    {"sums_in_the_message", "the partial sum stays in the message that goes round, and only means are written back"},
    {"divides_in_double", "the division is one of double numbers"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ring {

using exercise::is_alternative;

void all_reduce_mean(std::span<float> values, const Neighbours& place) {
  const int ranks = place.world_size;
  if (ranks == 1) return;
  const auto part = [&](int index) {
    const Chunk chunk = chunk_of(static_cast<std::int64_t>(values.size()), wrap(index, ranks), ranks);
    return values.subspan(static_cast<std::size_t>(chunk.begin), static_cast<std::size_t>(chunk.count));
  };
  const auto mean = [&](float sum) {
    if (is_alternative("multiplies_by_the_reciprocal")) return sum * (1.0F / static_cast<float>(ranks));
    if (is_alternative("divides_in_double")) return static_cast<float>(static_cast<double>(sum) / ranks);
    return sum / static_cast<float>(ranks);
  };
  std::vector<float> message(part(place.rank).begin(), part(place.rank).end());
  for (int step = 1; step < ranks; ++step) {
    const std::span<float> own = part(place.rank - step);
    std::vector<float> arrived(own.size());
    exchange(place.next, message, place.previous, arrived);
    const bool is_last = step + 1 == ranks && is_alternative("divides_in_the_last_step");
    for (std::size_t i = 0; i < own.size(); ++i) {
      arrived[i] = is_last ? (arrived[i] + own[i]) / static_cast<float>(ranks) : arrived[i] + own[i];
      if (!is_alternative("sums_in_the_message")) own[i] = arrived[i];
    }
    message = arrived;
  }
  if (!is_alternative("divides_in_the_last_step")) std::ranges::transform(message, message.begin(), mean);
  std::ranges::copy(message, part(place.rank + 1).begin());
  for (int step = 0; step + 1 < ranks; ++step)
    exchange(place.next, part(place.rank + 1 - step), place.previous, part(place.rank - step));
}

}  // namespace lockstep::ring
