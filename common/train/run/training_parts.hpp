#pragma once
/// @file
/// What one rank holds of a training run's tensors.
#include <vector>

#include "optim/optimizer.hpp"
#include "tensor/named_part.hpp"

namespace lockstep::run {

/// This rank's parts of everything that a checkpoint of a training run has.
struct TrainingParts {
  std::vector<NamedPart> model;      ///< In the order of the file.
  std::vector<NamedPart> optimizer;  ///< In the order of the file.
};

/// The state of an optimizer, each tensor with the slice and the owner of its parameter. Nothing is copied.
[[nodiscard]] std::vector<NamedPart> parts_of(const optim::Optimizer& optimizer);

}  // namespace lockstep::run
