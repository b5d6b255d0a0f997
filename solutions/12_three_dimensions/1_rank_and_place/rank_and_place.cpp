#include "12_three_dimensions/1_rank_and_place/rank_and_place.hpp"

namespace lockstep::places {

Place place_of(const GridShape& shape, int rank) {
  // SOLUTION(12.1) place_of: the digits of a number whose last digit is the tensor place
  return {.pipeline = rank / (shape.data * shape.tensor),
          .data = rank / shape.tensor % shape.data,
          .tensor = rank % shape.tensor};
  // END SOLUTION
}

int rank_at(const GridShape& shape, const Place& place) {
  // SOLUTION(12.1) rank_at: the number with these digits
  return (place.pipeline * shape.data + place.data) * shape.tensor + place.tensor;
  // END SOLUTION
}

std::vector<int> line(const GridShape& shape, int rank, Axis axis) {
  // SOLUTION(12.1) line: go along one axis, and keep the other two places
  Place place = place_of(shape, rank);
  std::vector<int> ranks;
  switch (axis) {
    case Axis::kPipeline:
      for (place.pipeline = 0; place.pipeline < shape.pipeline; ++place.pipeline)
        ranks.push_back(rank_at(shape, place));
      break;
    case Axis::kData:
      for (place.data = 0; place.data < shape.data; ++place.data) ranks.push_back(rank_at(shape, place));
      break;
    case Axis::kTensor:
      for (place.tensor = 0; place.tensor < shape.tensor; ++place.tensor) ranks.push_back(rank_at(shape, place));
      break;
  }
  return ranks;
  // END SOLUTION
}

}  // namespace lockstep::places
