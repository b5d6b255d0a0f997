#pragma once
/// @file
/// The grids of 1, 2, 4 and 8 ranks, of which there are 20.
#include <vector>

#include "12_three_dimensions/rank_grid.hpp"

namespace lockstep::test {

inline std::vector<grid::GridShape> all_grids() {
  std::vector<grid::GridShape> shapes;
  for (const int world_size : {1, 2, 4, 8})
    for (int pipeline = 1; pipeline <= world_size; pipeline *= 2)
      for (int data = 1; pipeline * data <= world_size; data *= 2)
        shapes.push_back({.pipeline = pipeline, .data = data, .tensor = world_size / pipeline / data});
  return shapes;
}

inline std::string text_of(const grid::GridShape& shape) {
  return std::to_string(shape.pipeline) + " x " + std::to_string(shape.data) + " x " + std::to_string(shape.tensor);
}

}  // namespace lockstep::test
