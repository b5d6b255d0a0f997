#pragma once
/// @file
/// A tensor with a name: an entry of a state_dict, of an optimizer's state or of a file.
#include <string>

#include "tensor/tensor.hpp"

namespace lockstep {

/// `tensor` shares the owner's storage, so its elements can be saved from here and loaded into place.
struct NamedTensor {
  std::string name;  ///< Unique in its list, for example "h.0.ln_1.weight".
  Tensor tensor;     ///< A view.
};

}  // namespace lockstep
