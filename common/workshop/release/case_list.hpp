#pragma once
/// @file
/// Cases for detectives in a release: it has those whose right program it has. They are practice and not graded, so
/// their patches, which say what is wrong, stay.
#include <string>

#include "release/plan.hpp"

namespace lockstep::release {

/// Whether a path is a chapter's list of cases: exercises/CHAPTER/cases/cases.json.
[[nodiscard]] bool is_case_list(const std::string& path);

/// A chapter's list without the cases whose right program the release leaves out.
/// @param text  Of cases.json. @throws FormatError  It is no such list.
[[nodiscard]] std::string rewrite_cases(const std::string& text, const Plan& plan);

/// Takes the patches of such cases, and lists of which no case is left, from the plan's files.
/// @param root  The project's. @throws FormatError  A list is not as it must be.
void leave_out_cases(const std::filesystem::path& root, Plan& plan);

}  // namespace lockstep::release
