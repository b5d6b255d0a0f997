#pragma once
/// @file
/// Given: the pipeline of exercise 00.4 as its callers see it. Pass and Task are those of the chapter's strategies.hpp.
#include <vector>

#include "exercise/todo.hpp"

namespace lockstep::plan {

/// The direction through the model.
enum class Pass { kForward, kBackward };

/// One rank computing on one micro-batch during [begin, end), in units.
struct Task {
  int rank = 0;                ///< In [0, world_size).
  int micro_batch = 0;         ///< In [0, M).
  Pass pass = Pass::kForward;  ///< Direction.
  int begin = 0;               ///< First unit.
  int end = 0;                 ///< One past the last unit.
};

inline constexpr int kForwardUnits = 1;   ///< A forward pass of one micro-batch through the layers of one rank.
inline constexpr int kBackwardUnits = 2;  ///< Its backward pass.

/// One step of training in a pipeline: first all forward passes, then all backward passes (GPipe). Messages take no
/// time, and every task begins as early as the rules of TASK.md allow.
///
/// @param world_size     P ranks, at least 1; rank 0 has the first layers, rank P-1 the last ones and the loss.
/// @param micro_batches  M, at least 1.
/// @return  2 P M tasks in any order. The first begins in unit 0.
/// @source  Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", 2019,
/// fig. 2.
[[nodiscard]] std::vector<Task> pipeline_schedule(int world_size, int micro_batches);

/// The bubble: the part of all ranks' time, from the first task's begin to the last one's end, in which they compute
/// nothing. In [0, 1).
/// @param world_size, micro_batches  As above.
[[nodiscard]] double bubble(int world_size, int micro_batches);

}  // namespace lockstep::plan
