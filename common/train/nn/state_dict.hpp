#pragma once
/// @file
/// Loading tensors by name. Private to the module.
#include <span>

#include "nn/module.hpp"

namespace lockstep::nn {

/// Module::load_state_dict(), whose contract this has.
/// @param own          Every tensor of the module, under its own name.
/// @param other_names  The same tensors under further names: a tied parameter has several.
IncompatibleKeys load_by_name(std::span<const NamedTensor> own, std::span<const NamedTensor> other_names,
                              std::span<const NamedTensor> state, Strict strict);

}  // namespace lockstep::nn
