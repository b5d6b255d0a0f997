#pragma once
/// @file
/// Cases for detectives in a release: those whose right program it contains. They are ungraded practice, so their
/// patches, which contain the answers, are included.
#include <string>

#include "release/plan.hpp"

namespace lockstep::release {

/// True if a path is a chapter's list of cases: exercises/CHAPTER/cases/cases.json.
[[nodiscard]] bool is_case_list(const std::string& path);

/// A chapter's list without the cases whose right program the release omits.
/// @param text  Of cases.json. @throws FormatError  It is not such a list.
[[nodiscard]] std::string rewrite_cases(const std::string& text, const Plan& plan);

/// Removes the patches of such cases, and lists without remaining cases, from the plan's files.
/// @param root  The project's root. @throws FormatError  A list is invalid.
void leave_out_cases(const std::filesystem::path& root, Plan& plan);

}  // namespace lockstep::release
