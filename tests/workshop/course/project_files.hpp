#pragma once
/// @file
/// The files that belong to the project, for the checkers of this folder.
#include <filesystem>
#include <string>
#include <vector>

#include "course/text_file.hpp"

namespace lockstep::checks {

using Problems = std::vector<std::string>;  ///< One line each, naming file and line; empty where all is well.

/// Paths below `root` of all files, sorted, with '/' between names; folders that are never committed (build, runs,
/// work, .git, ...) are left out.
[[nodiscard]] std::vector<std::string> project_files(const std::filesystem::path& root);

/// Those of `paths` that stand below `folder` (empty: all) and have one of the extensions.
[[nodiscard]] std::vector<std::string> select_files(const std::vector<std::string>& paths, const std::string& folder,
                                                    const std::vector<std::string>& extensions);

/// Reads root/path; its name is `path`.
[[nodiscard]] course::TextFile read_project_file(const std::filesystem::path& root, const std::string& path);

}  // namespace lockstep::checks
