#pragma once
/// @file
/// The names of scalars as every tracker's file can hold them.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "08_accelerate/tracking/tracker.hpp"

namespace lockstep::accelerate {

/// `values` in their order, with names that are UTF-8 (U+FFFD replaces what is not), not `reserved`, and all different:
/// readers of JSON keep one of two equal names, and TensorBoard drops an event with a tag that is not UTF-8. A name
/// that is taken gets a number: "step (2)".
/// @param reserved  What the file calls something else; empty: nothing.
[[nodiscard]] std::vector<std::pair<std::string, double>> named_scalars(const Scalars& values,
                                                                        std::string_view reserved = {});

}  // namespace lockstep::accelerate
