#include <utility>

#include "12_three_dimensions/2_splits/splits.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"color_is_own_place", "the color of a group is the place on its own axis, so nobody meets its line",
     "Ranks of a line differ on this axis: the color is made of the other two places."},
    {"colors_collide", "the color is the sum of the two other places, which different lines share",
     "pipeline * D + data gives each pair a number of its own."},
    {"one_place_only", "the color of a tensor group is the data place alone, so all stages are in it",
     "It has the pipeline place, too."},
    {"radix_of_wrong_axis", "the color of a data group is pipeline * D + tensor, which different lines share",
     "Multiply by the number of tensor ranks: pipeline * T + tensor."},
    {"skips_the_call", "a rank without an end of a link does not make the call",
     "split() is a collective: pass kNoColor, and the others do not wait."},
    {"zero_for_nobody", "a rank without an end of a link passes color 0, and joins one", "Pass kNoColor."},
    {"one_link", "there is one link for each border, in which both directions wait for each other",
     "Two calls: activations, and gradients."},
    {"no_table", "there is no link for the token table", "The last stage borrows it from the first."},
    {"table_of_one_stage", "a model on one rank has a link for its table, with a single end",
     "Only if there is more than one stage."},
    {"border_around", "the last stage has a border with the first one", "Borders are between stage s and s + 1."},
    {"links_before_groups", "links come before the groups", "Groups first, in the order of the comment."},
    {"links_from_the_end", "the last border comes first", "In the order of the stages."},
    {"directions_apart", "all links for activations come first, then all for gradients",
     "Both links of a border, then those of the next one."},
    {"keys_reversed", "the later stage is rank 0 of a link", "The key is the stage."},
    {"table_of_all_stages", "all stages are in one group for the table", "Only the first and the last."},
    {"order_of_groups", "data groups come before tensor groups", "Tensor, data, pipeline: as all other ranks do."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::splits {

using exercise::is_mistake;

namespace {

std::vector<Split> groups(const GridShape& shape, const Place& place) {
  if (is_mistake("color_is_own_place")) return {{place.tensor}, {place.data}, {place.pipeline}};
  if (is_mistake("colors_collide"))
    return {{place.pipeline + place.data}, {place.pipeline + place.tensor}, {place.data + place.tensor}};
  Split tensor{place.pipeline * shape.data + place.data}, data{place.pipeline * shape.tensor + place.tensor};
  if (is_mistake("one_place_only")) tensor.color = place.data;
  if (is_mistake("radix_of_wrong_axis")) data.color = place.pipeline * shape.data + place.tensor;
  if (is_mistake("order_of_groups")) std::swap(tensor, data);
  return {tensor, data, {place.data * shape.tensor + place.tensor}};
}

// Appends this rank's part in the link of two stages.
void add_link(std::vector<Split>& calls, const GridShape& shape, const Place& place, int earlier, int later) {
  const int line = place.data * shape.tensor + place.tensor;
  const int key = is_mistake("keys_reversed") ? -place.pipeline : place.pipeline;
  if (place.pipeline == earlier || place.pipeline == later) {
    calls.push_back({line, key});
  } else if (is_mistake("zero_for_nobody")) {
    calls.push_back({0, key});
  } else if (!is_mistake("skips_the_call")) {
    calls.emplace_back();
  }
}

std::vector<Split> links(const GridShape& shape, const Place& place) {
  std::vector<Split> calls;
  const int borders = shape.pipeline - 1;
  if (is_mistake("directions_apart")) {
    for (int i = 0; i < 2 * borders; ++i) add_link(calls, shape, place, i % borders, i % borders + 1);
    return calls;
  }
  for (int i = 0; i < borders; ++i) {
    const int border = is_mistake("links_from_the_end") ? borders - 1 - i : i;
    add_link(calls, shape, place, border, border + 1);
    if (!is_mistake("one_link")) add_link(calls, shape, place, border, border + 1);
  }
  if (is_mistake("border_around") && borders > 0) {
    add_link(calls, shape, place, borders, 0);
    add_link(calls, shape, place, borders, 0);
  }
  return calls;
}

}  // namespace

std::vector<Split> splits(const GridShape& shape, const Place& place) {
  std::vector<Split> calls = groups(shape, place);
  const std::vector<Split> more = links(shape, place);
  calls.insert(is_mistake("links_before_groups") ? calls.begin() : calls.end(), more.begin(), more.end());
  const bool has_table = shape.pipeline > 1 || is_mistake("table_of_one_stage");
  if (!has_table || is_mistake("no_table")) return calls;
  if (is_mistake("table_of_all_stages")) {
    calls.push_back({place.data * shape.tensor + place.tensor, place.pipeline});
  } else {
    add_link(calls, shape, place, 0, shape.pipeline - 1);
  }
  return calls;
}

}  // namespace lockstep::splits
