#pragma once
/// @file
/// What several ranks do around the steps of a loop that is written for one process.
#include <functional>

#include "run/step.hpp"

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

class Run;

/// Given to a Run by a library that makes such a loop right for several ranks (accelerate::step_hooks()). Each function
/// may be empty. The run calls them on every rank.
struct StepHooks {
  comm::ProcessGroup& group;  ///< The run's ranks. Outlives the run.
  /// At the end of the run's constructor: adds to its checkpoints what the library saves.
  std::function<void(Run&)> begin = nullptr;
  /// In end_step(): turns this rank's result into that of all ranks.
  std::function<void(StepResult&)> complete = nullptr;
  /// At the end of print_step(): compares the ranks' parameters.
  std::function<void(const Run&)> check = nullptr;
  /// Whether updates with a gradient that is not finite are skipped, so that require_finite() accepts its norm.
  bool skips_updates = false;
};

}  // namespace lockstep::run
