#pragma once
/// @file
/// Lists the project's files for the checkers in this folder.
#include <filesystem>
#include <string>
#include <vector>

#include "course/text_file.hpp"

namespace lockstep::checks {

using Problems = std::vector<std::string>;  ///< One line each, naming file and line; empty if there are none.

/// Paths of all files relative to `root`, sorted, with '/' as separator; omits folders that are never committed (build,
/// runs, work, .git, ...).
[[nodiscard]] std::vector<std::string> project_files(const std::filesystem::path& root);

/// The `paths` in `folder` (empty: all) with one of the extensions.
[[nodiscard]] std::vector<std::string> select_files(const std::vector<std::string>& paths, const std::string& folder,
                                                    const std::vector<std::string>& extensions);

/// Reads root/path; its name is `path`.
[[nodiscard]] course::TextFile read_project_file(const std::filesystem::path& root, const std::string& path);

}  // namespace lockstep::checks
