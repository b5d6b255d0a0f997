#include "exercise/alternatives.hpp"

#include <array>

#include "12_three_dimensions/1_rank_and_place/rank_and_place.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"strides", "each axis has a stride, the ranks of the axes that change faster"},
    {"searches", "all places are tried until one has the rank, and all ranks until one has the place"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::places {

using exercise::is_alternative;

namespace {

int stride_of(const GridShape& shape, Axis axis) {
  if (axis == Axis::kTensor) return 1;
  return axis == Axis::kData ? shape.tensor : shape.tensor * shape.data;
}

}  // namespace

Place place_of(const GridShape& shape, int rank) {
  if (is_alternative("searches")) {
    int seen = 0;
    for (int pipeline = 0; pipeline < shape.pipeline; ++pipeline)
      for (int data = 0; data < shape.data; ++data)
        for (int tensor = 0; tensor < shape.tensor; ++tensor)
          if (seen++ == rank) return {pipeline, data, tensor};
  }
  Place place;
  place.pipeline = rank / stride_of(shape, Axis::kPipeline);
  rank -= place.pipeline * stride_of(shape, Axis::kPipeline);
  place.data = rank / stride_of(shape, Axis::kData);
  place.tensor = rank - place.data * stride_of(shape, Axis::kData);
  return place;
}

int rank_at(const GridShape& shape, const Place& place) {
  if (is_alternative("searches"))
    for (int rank = 0; rank < shape.pipeline * shape.data * shape.tensor; ++rank)
      if (place_of(shape, rank) == place) return rank;
  return place.pipeline * stride_of(shape, Axis::kPipeline) + place.data * stride_of(shape, Axis::kData) + place.tensor;
}

std::vector<int> line(const GridShape& shape, int rank, Axis axis) {
  const Place place = place_of(shape, rank);
  const int own = axis == Axis::kPipeline ? place.pipeline : axis == Axis::kData ? place.data : place.tensor;
  const int count = axis == Axis::kPipeline ? shape.pipeline : axis == Axis::kData ? shape.data : shape.tensor;
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(rank + (i - own) * stride_of(shape, axis));
  return ranks;
}

}  // namespace lockstep::places
