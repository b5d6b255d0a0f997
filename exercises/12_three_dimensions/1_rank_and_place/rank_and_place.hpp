#pragma once
/// @file
/// Given: ranks that divide a model in three ways at once, and the three functions of exercise 12.1 as their callers
/// see them.
#include <vector>

#include "exercise/todo.hpp"

namespace lockstep::places {

/// Ways in which ranks divide a model.
enum class Axis {
  kPipeline,  ///< The blocks.
  kData,      ///< The samples.
  kTensor     ///< Every matrix.
};

/// The numbers of ranks along each axis: P, D and T.
struct GridShape {
  int pipeline = 1;
  int data = 1;
  int tensor = 1;
};

/// A rank's place on each axis, from 0.
struct Place {
  int pipeline = 0;
  int data = 0;
  int tensor = 0;

  bool operator==(const Place&) const = default;
};

/// The place of a rank. Neighbouring ranks are neighbours on the tensor axis; if that is used up, on the data axis; and
/// only if that is used up, too, on the pipeline axis.
/// @param rank  In [0, P D T).
[[nodiscard]] Place place_of(const GridShape& shape, int rank);

/// The rank that has a place. @param place  Inside the grid.
[[nodiscard]] int rank_at(const GridShape& shape, const Place& place);

/// The ranks that have the same place as `rank` on the two other axes, and any place on this one.
/// @return  Ascending; `rank` is one of them.
[[nodiscard]] std::vector<int> line(const GridShape& shape, int rank, Axis axis);

}  // namespace lockstep::places
