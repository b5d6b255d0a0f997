#pragma once
/// @file
/// Checks that a student's repository contains no answers.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "release/answers.hpp"

namespace lockstep::release {

/// Searches all files of a folder, including compiled ones, and its git history.
/// @param shown  Paths below the folder that may contain parts of answers ("may_show").
/// @return  The problems, one per line; empty: none.
[[nodiscard]] std::vector<std::string> check_release(const std::filesystem::path& folder, const Answers& answers,
                                                     const std::set<std::string>& shown);

}  // namespace lockstep::release
