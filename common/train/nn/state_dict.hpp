#pragma once
/// @file
/// Loading tensors by name. Internal to this module.
#include <span>

#include "nn/module.hpp"

namespace lockstep::nn {

/// Implements Module::load_state_dict(), with its contract.
/// @param own          Every tensor of the module, under its own name.
/// @param other_names  The same tensors under further names: a tied parameter has several.
IncompatibleKeys load_by_name(std::span<const NamedTensor> own, std::span<const NamedTensor> other_names,
                              std::span<const NamedTensor> state, Strict strict);

}  // namespace lockstep::nn
