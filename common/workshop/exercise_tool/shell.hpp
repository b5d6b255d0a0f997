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

/// The words of a command that builds in a folder; targets follow. As many compilers run at once as the script
/// ./lockstep found memory for (LOCKSTEP_JOBS); without the script, as many as ninja itself chooses.
/// @throws FormatError  LOCKSTEP_JOBS is not a number of compilers.
[[nodiscard]] std::vector<std::string> ninja_in(const std::filesystem::path& build);

}  // namespace lockstep::exercise
