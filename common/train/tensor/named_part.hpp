#pragma once
/// @file
/// A part of a named tensor: what one rank holds of a weight, or of an optimizer's state, that ranks divide.
#include <string>

#include "tensor/slice.hpp"
#include "tensor/tensor.hpp"

namespace lockstep {

/// The handle shares the owner's storage: reading its elements saves, copying into it loads.
struct NamedPart {
  std::string name;      ///< Of the whole tensor; unique in its list.
  Tensor tensor;         ///< The elements that this rank holds, [slice.count()] in any shape; a view.
  Slice slice;           ///< Which elements of the whole tensor they are; may be none.
  bool is_owned = true;  ///< Of the ranks that hold these elements, one owns them: it saves them.
};

}  // namespace lockstep
