#pragma once
/// @file
/// Tests grading on known programs: solutions get all points, templates none, each mistake fewer and its name.
#include <functional>
#include <string>
#include <vector>

#include "exercise_tool/workspace.hpp"
#include "grading/settings.hpp"

namespace lockstep::grading {

/// Grades the solution, the template and each mistake of the bank in the sandbox for submissions; the mistakes with the
/// bank's own program.
/// @param report  Receives a line for each exercise. @return  Deviations from the expected grades; empty: none.
/// @pre adopt_orphans(); everything is built, and the stage is made.
[[nodiscard]] std::vector<std::string> selftest(const exercise::Workspace& workspace,
                                                const std::vector<exercise::Exercise>& exercises,
                                                const Settings& settings, const Sandbox& sandbox,
                                                const std::function<void(const std::string&)>& report);

}  // namespace lockstep::grading
