#pragma once
/// @file
/// Runs other programs: the compiler, ninja, the judges.
#include <filesystem>
#include <string>
#include <vector>

#include "base/process.hpp"

namespace lockstep::exercise {

/// Runs a program in a folder and waits for its end. @throws IoError  It cannot be started.
[[nodiscard]] FinishedProcess run(const std::vector<std::string>& command, const std::filesystem::path& folder,
                                  Collect collect);

}  // namespace lockstep::exercise
