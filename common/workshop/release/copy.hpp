#pragma once
/// @file
/// Copies the files of a release that are not compiled.
#include <filesystem>

#include "release/answers.hpp"
#include "release/plan.hpp"

namespace lockstep::release {

/// Copies the plan's files from the project's root to `out`. Pages, lists of cases and the training text lose the parts
/// that the release omits.
/// @throws IoError
void copy_files(const std::filesystem::path& root, const Plan& plan, const Answers& answers,
                const std::filesystem::path& out);

}  // namespace lockstep::release
