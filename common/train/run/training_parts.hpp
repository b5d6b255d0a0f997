#pragma once
/// @file
/// What one rank holds of a training run's tensors.
#include <vector>

#include "optim/optimizer.hpp"
#include "tensor/named_part.hpp"

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// This rank's parts of everything that a checkpoint of a training run has.
struct TrainingParts {
  std::vector<NamedPart> model;      ///< In the order of the file.
  std::vector<NamedPart> optimizer;  ///< In the order of the file.
};

/// The state of an optimizer, each tensor with the slice and the owner of its parameter. Nothing is copied.
[[nodiscard]] std::vector<NamedPart> parts_of(const optim::Optimizer& optimizer);

/// The update counts of all ranks' parameters, as one process would have them: for a checkpoint. The owners of a
/// parameter say how often it was updated. Collective.
/// @param group  Null: this process alone.
/// @cost  An all-reduce of 8 bytes, and an exchange of the names if a parameter was updated less often than others.
[[nodiscard]] optim::StepCounts step_counts_of_all(const optim::Optimizer& optimizer, comm::ProcessGroup* group);
/// Of the counts in a checkpoint, those that Optimizer::set_step_counts() accepts: other ranks have other parameters.
[[nodiscard]] optim::StepCounts own_step_counts(const optim::StepCounts& of_all, const optim::Optimizer& optimizer);

}  // namespace lockstep::run
