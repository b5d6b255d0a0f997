#include "exercise/alternatives.hpp"

#include <vector>

#include "01_mini_all_reduce/2_star_all_reduce/star_all_reduce.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"gathers_then_adds", "the centre receives everything first, into one long buffer, and adds afterwards"},
    {"element_by_element", "the centre receives and adds one element at a time"},
    {"answers_in_reverse", "the centre sends the sum to the last rank first"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::star {

using exercise::is_alternative;

void all_reduce(std::span<float> values, const Place& place) {
  if (place.rank != kCentre) {
    place.link(kCentre).send(values);
    return place.link(kCentre).receive(values);
  }
  const auto others = static_cast<std::size_t>(place.world_size - 1);
  if (is_alternative("element_by_element")) {
    for (int peer = 1; peer < place.world_size; ++peer) {
      for (float& value : values) {
        float theirs = 0;
        place.link(peer).receive(std::span(&theirs, 1));
        value += theirs;
      }
    }
  } else {
    std::vector<float> all(others * values.size());
    for (std::size_t i = 0; i < others; ++i)
      place.link(static_cast<int>(i) + 1).receive(std::span(all).subspan(i * values.size(), values.size()));
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t other = 0; other < others; ++other) values[i] += all[other * values.size() + i];
  }
  for (int i = 1; i < place.world_size; ++i)
    place.link(is_alternative("answers_in_reverse") ? place.world_size - i : i).send(values);
}

}  // namespace lockstep::star
