#pragma once
/// @file
/// Finds checks that pass without any code from a student: they give no points.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "exercise_tool/workspace.hpp"
#include "grading/sandbox.hpp"
#include "grading/settings.hpp"

namespace lockstep::grading {

/// Replaces a template's calls of todo() by immediate returns of zeros, empty lists and the like, if there are any.
[[nodiscard]] std::string with_empty_functions(const std::string& template_text);

/// By exercise: the checks passed by its template, or by the template with empty functions (if that compiles). Earlier
/// results for the same judge, template and subject are read from `settings.out`.
/// @pre adopt_orphans(); make_stage(); judges and templates are built.
/// @throws Error        A template cannot be judged.
/// @throws FormatError  exercise.json gives weights to checks that the judge does not have.
[[nodiscard]] std::map<std::string, std::set<std::string>> find_given_checks(
    const exercise::Workspace& workspace, const std::vector<exercise::Exercise>& exercises, const Settings& settings,
    const Sandbox& sandbox);

}  // namespace lockstep::grading
