#pragma once
/// @file
/// Helpers that declare options as table rows: field, name, help, check, name of the value. Internal to this module.
#include <utility>

#include "run/option_list.hpp"

namespace lockstep::run {

/// An option that a resumed run may not change.
[[nodiscard]] inline OptionDeclaration fixed(OptionDeclaration option) {
  option.kind = OptionKind::kFixed;
  return option;
}

/// An option for one start of the program only.
[[nodiscard]] inline OptionDeclaration this_time(OptionDeclaration option) {
  option.kind = OptionKind::kThisTime;
  return option;
}

/// An option whose default value has a special meaning, which the help explains.
[[nodiscard]] inline OptionDeclaration without_default(OptionDeclaration option) {
  option.shows_default = false;
  return option;
}

}  // namespace lockstep::run
