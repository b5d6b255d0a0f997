#pragma once
/// @file
/// Grading tried on what is known: solutions get everything, templates nothing, each mistake less and its name.
#include <functional>
#include <string>
#include <vector>

#include "exercise_tool/workspace.hpp"
#include "grading/settings.hpp"

namespace lockstep::grading {

/// Grades the solution, the template and each mistake of the bank, in the sandbox that submissions get, with the bank's
/// own program for the mistakes.
/// @param report  Is given a line for each exercise. @return  What is not as it must be; empty: nothing.
/// @pre adopt_orphans(); everything is built, and the stage is made.
[[nodiscard]] std::vector<std::string> selftest(const exercise::Workspace& workspace,
                                                const std::vector<exercise::Exercise>& exercises,
                                                const Settings& settings, const Sandbox& sandbox,
                                                const std::function<void(const std::string&)>& report);

}  // namespace lockstep::grading
