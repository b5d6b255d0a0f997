#include "12_three_dimensions/1_rank_and_place/rank_and_place.hpp"

namespace lockstep::places {

Place place_of(const GridShape& shape, int rank) {
  // TODO(12.1): the digits of a number whose last digit is the tensor place
  lockstep::todo("12.1 place_of");
}

int rank_at(const GridShape& shape, const Place& place) {
  // TODO(12.1): the number with these digits
  lockstep::todo("12.1 rank_at");
}

std::vector<int> line(const GridShape& shape, int rank, Axis axis) {
  // TODO(12.1): go along one axis, and keep the other two places
  lockstep::todo("12.1 line");
}

}  // namespace lockstep::places
