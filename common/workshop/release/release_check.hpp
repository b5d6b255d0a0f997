#pragma once
/// @file
/// Whether a student's repository holds an answer.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "release/answers.hpp"

namespace lockstep::release {

/// Looks through all files of a folder, what is compiled included, and through its git history.
/// @param shown  Paths below the folder whose text may hold parts of answers ("may_show").
/// @return  What is wrong, one line each; empty: nothing.
[[nodiscard]] std::vector<std::string> check_release(const std::filesystem::path& folder, const Answers& answers,
                                                     const std::set<std::string>& shown);

}  // namespace lockstep::release
