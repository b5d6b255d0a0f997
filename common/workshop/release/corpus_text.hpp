#pragma once
/// @file
/// The course's training text contains its own sources, including answers.
#include <string>

#include "release/answers.hpp"
#include "release/plan.hpp"

namespace lockstep::release {

/// The corpus without the sections (`==== path ====`) of files that the plan omits, and without other lines that
/// contain parts of answers. The losses of a training run then differ a little from those in the lessons.
[[nodiscard]] std::string rewrite_corpus(const std::string& text, const Plan& plan, const Answers& answers);

}  // namespace lockstep::release
