#pragma once
/// @file
/// A tensor with a name: an entry of a state_dict, of an optimizer's state, of a file.
#include <string>

#include "tensor/tensor.hpp"

namespace lockstep {

/// The handle shares the owner's storage: reading its elements saves, copying into it loads.
struct NamedTensor {
  std::string name;  ///< Unique in its list, for example "h.0.ln_1.weight".
  Tensor tensor;     ///< A view.
};

}  // namespace lockstep
