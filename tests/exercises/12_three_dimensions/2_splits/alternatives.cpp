#include "exercise/alternatives.hpp"

#include "12_three_dimensions/2_splits/splits.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"first_member", "a color is the rank of the line's first member, and all keys are equal"},
    {"colors_of_all_groups", "no color is used twice in the whole job"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::splits {

using exercise::is_alternative;

std::vector<Split> splits(const GridShape& shape, const Place& place) {
  const auto rank_at = [&](int pipeline, int data, int tensor) {
    return (pipeline * shape.data + data) * shape.tensor + tensor;
  };
  const int ranks = shape.pipeline * shape.data * shape.tensor;
  std::vector<Split> calls;
  const auto add = [&](int first_member, int key) {
    const int base = is_alternative("colors_of_all_groups") ? static_cast<int>(calls.size()) * ranks : 0;
    calls.push_back({.color = base + first_member, .key = is_alternative("first_member") ? 0 : key});
  };
  add(rank_at(place.pipeline, place.data, 0), place.tensor);
  add(rank_at(place.pipeline, 0, place.tensor), place.data);
  add(rank_at(0, place.data, place.tensor), place.pipeline);
  for (int border = 1; border < shape.pipeline; ++border) {
    for (int direction = 0; direction < 2; ++direction) {
      if (place.pipeline == border || place.pipeline == border - 1)
        add(rank_at(0, place.data, place.tensor), place.pipeline);
      else
        calls.emplace_back();
    }
  }
  if (shape.pipeline == 1) return calls;
  if (place.pipeline == 0 || place.pipeline + 1 == shape.pipeline)
    add(rank_at(0, place.data, place.tensor), place.pipeline);
  else
    calls.emplace_back();
  return calls;
}

}  // namespace lockstep::splits
