#pragma once
/// @file
/// Makes the names of scalars valid for every tracker's file.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/tracker.hpp"

namespace lockstep::run {

/// `values` in their order, with names that are UTF-8 (U+FFFD replaces invalid bytes), not `reserved`, and all
/// different: readers of JSON keep one of two equal names, and TensorBoard drops an event with a tag that is not UTF-8.
/// A name that is taken gets a number: "step (2)".
/// @param reserved  A name that the file uses for something else; empty: none.
[[nodiscard]] std::vector<std::pair<std::string, double>> named_scalars(const Scalars& values,
                                                                        std::string_view reserved = {});

}  // namespace lockstep::run
