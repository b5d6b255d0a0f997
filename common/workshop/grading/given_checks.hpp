#pragma once
/// @file
/// Checks that pass without a line of a student: they give no points.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "exercise_tool/workspace.hpp"
#include "grading/sandbox.hpp"
#include "grading/settings.hpp"

namespace lockstep::grading {

/// A template with functions that return at once, with zeros, empty lists and the like, in the place of its calls of
/// todo(). The same text if there is none.
[[nodiscard]] std::string with_empty_functions(const std::string& template_text);

/// By exercise: the checks that its template passes, or the template with empty functions (if those compile at all).
/// What was found before for the same judge, template and subject is read from `settings.out`.
/// @pre adopt_orphans(); make_stage(); judges and templates are built.
/// @throws Error  A template cannot be judged. @throws FormatError  exercise.json gives weights to checks that the
/// judge does not have.
[[nodiscard]] std::map<std::string, std::set<std::string>> find_given_checks(
    const exercise::Workspace& workspace, const std::vector<exercise::Exercise>& exercises, const Settings& settings,
    const Sandbox& sandbox);

}  // namespace lockstep::grading
