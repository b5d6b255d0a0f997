#pragma once
/// @file
/// Given: a rank's place in three dimensions, and the splits of exercise 12.2 as their caller sees them.
#include <vector>

#include "exercise/todo.hpp"

namespace lockstep::splits {

/// The numbers of ranks along each axis: P, D and T.
struct GridShape {
  int pipeline = 1;
  int data = 1;
  int tensor = 1;
};

/// A rank's place on each axis, from 0. Ranks are numbered so that the tensor place changes fastest, then the data
/// place, then the pipeline place.
struct Place {
  int pipeline = 0;
  int data = 0;
  int tensor = 0;
};

/// The color of a rank that joins no group.
inline constexpr int kNoColor = -1;

/// A rank's arguments in one call of split() of the group of all ranks. All ranks call it together. Those that pass the
/// same color become a group, ordered by key, and by rank if keys are equal. A rank with kNoColor gets none.
struct Split {
  int color = kNoColor;  ///< At least 0, or kNoColor.
  int key = 0;
};

/// The calls that a rank makes, one after another, for all groups of a job. In this order:
///
/// 1. One call for the tensor groups: ranks that differ in their tensor place only.
/// 2. One for the data groups, and
/// 3. one for the pipeline groups, likewise.
/// 4. For each border between two stages, the first one first, two calls: a link for activations, and one for their
///    gradients. A link is a group of two ranks, one on each side of the border, with the same data place and the same
///    tensor place.
/// 5. If there is more than one stage, a call for links between the first stage and the last, for the token table.
///
/// In each group ranks are in the order of their places; in a link the earlier stage is rank 0.
[[nodiscard]] std::vector<Split> splits(const GridShape& shape, const Place& place);

}  // namespace lockstep::splits
