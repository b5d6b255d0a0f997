#pragma once
/// @file
/// Where a learner is, and what comes next.
#include <cstddef>
#include <string>

#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {

/// The next exercise with its difficulty and minutes, what to read first, what its lesson gives to do on the way from
/// the last exercise that has passed, and the command to go on with.
/// @param columns  Width of the text.
[[nodiscard]] std::string next_step_text(const Workspace& workspace, std::size_t columns);

}  // namespace lockstep::exercise
