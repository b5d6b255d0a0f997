#pragma once
/// @file
/// Programs that the commands call: the compiler, ninja, the judges.
#include <filesystem>
#include <string>
#include <vector>

#include "base/process.hpp"

namespace lockstep::exercise {

/// Runs a program to its end in a folder. @throws IoError  It cannot be started.
[[nodiscard]] FinishedProcess run(const std::vector<std::string>& command, const std::filesystem::path& folder,
                                  Collect collect);

}  // namespace lockstep::exercise
