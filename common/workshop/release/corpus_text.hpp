#pragma once
/// @file
/// The text that the course trains on holds the course's own sources, those with answers too.
#include <string>

#include "release/answers.hpp"
#include "release/plan.hpp"

namespace lockstep::release {

/// The corpus without the sections (`==== path ====`) of files that the plan leaves out, and without other lines with
/// parts of answers. Losses of a training run are then a little different from those that lessons quote.
[[nodiscard]] std::string rewrite_corpus(const std::string& text, const Plan& plan, const Answers& answers);

}  // namespace lockstep::release
