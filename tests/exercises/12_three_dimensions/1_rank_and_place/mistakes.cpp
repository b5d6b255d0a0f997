#include <algorithm>

#include "12_three_dimensions/1_rank_and_place/rank_and_place.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"pipeline_fastest", "neighbouring ranks are stages of a pipeline, and tensor ranks are farthest apart",
     "The last digit of a rank is its tensor place: (pipeline D + data) T + tensor."},
    {"data_fastest", "neighbouring ranks are data ranks, and the tensor axis comes second",
     "The tensor place changes with every rank: (pipeline D + data) T + tensor."},
    {"data_slowest", "the data axis changes slowest, and the pipeline second",
     "Stages are farthest apart: (pipeline D + data) T + tensor."},
    {"no_remainder", "the data place is not reduced to its axis",
     "rank / T % D: every D T ranks it begins at 0 again."},
    {"forgets_tensor", "the pipeline place is counted in groups of D ranks", "A stage has D T ranks."},
    {"wrong_side", "rank_at() multiplies by P, where D ranks share a stage",
     "Multiply a place by the number of ranks along the *next* axis: pipeline * D."},
    {"rank_swapped", "rank_at() takes the data place for the first digit and the pipeline's for the second",
     "(pipeline D + data) T + tensor."},
    {"line_without_self", "a line does not have the rank itself", "It works with the others: it is one of them."},
    {"line_from_self", "a line begins with the rank itself", "Ascending, from place 0 on."},
    {"line_of_rank_zero", "every rank gets the line of rank 0", "Keep this rank's places on the two other axes."},
    {"line_of_neighbours", "a line has neighbouring ranks on every axis",
     "Only tensor ranks are neighbours: ask rank_at() for each place."},
    {"line_ignores_axis", "every axis gets the line of the tensor axis", "Let the place on `axis` run."},
    {"line_up_to_self", "a line ends with the rank itself", "Go on to the end of the axis."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::places {

using exercise::is_mistake;

Place place_of(const GridShape& shape, int rank) {
  const int P = shape.pipeline, D = shape.data, T = shape.tensor;
  if (is_mistake("pipeline_fastest")) return {rank % P, rank / P % D, rank / (P * D)};
  if (is_mistake("data_fastest")) return {rank / (D * T), rank % D, rank / D % T};
  if (is_mistake("data_slowest")) return {rank / T % P, rank / (T * P), rank % T};
  if (is_mistake("no_remainder")) return {rank / (D * T), rank / T, rank % T};
  if (is_mistake("forgets_tensor")) return {rank / D, rank / T % D, rank % T};
  return {rank / (D * T), rank / T % D, rank % T};
}

int rank_at(const GridShape& shape, const Place& place) {
  const int P = shape.pipeline, D = shape.data, T = shape.tensor;
  if (is_mistake("pipeline_fastest")) return (place.tensor * D + place.data) * P + place.pipeline;
  if (is_mistake("data_fastest")) return (place.pipeline * T + place.tensor) * D + place.data;
  if (is_mistake("data_slowest")) return (place.data * P + place.pipeline) * T + place.tensor;
  if (is_mistake("wrong_side")) return (place.pipeline * P + place.data) * T + place.tensor;
  if (is_mistake("rank_swapped")) return (place.data * D + place.pipeline) * T + place.tensor;
  return (place.pipeline * D + place.data) * T + place.tensor;
}

std::vector<int> line(const GridShape& shape, int rank, Axis axis) {
  if (is_mistake("line_ignores_axis")) axis = Axis::kTensor;
  Place place = place_of(shape, rank);
  if (is_mistake("line_of_rank_zero")) place = {};
  int& moving = axis == Axis::kPipeline ? place.pipeline : axis == Axis::kData ? place.data : place.tensor;
  const int count = axis == Axis::kPipeline ? shape.pipeline : axis == Axis::kData ? shape.data : shape.tensor;
  const int own = moving;
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) {
    moving = is_mistake("line_from_self") ? (own + i) % count : i;
    if (is_mistake("line_without_self") && i == own) continue;
    ranks.push_back(is_mistake("line_of_neighbours") ? rank - own + i : rank_at(shape, place));
    if (is_mistake("line_up_to_self") && i == own) break;
  }
  return ranks;
}

}  // namespace lockstep::places
