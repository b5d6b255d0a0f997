#pragma once
/// @file
/// Checks that messages which a page quotes are messages of the programs.
#include <filesystem>
#include <string>

#include "project_files.hpp"

namespace lockstep::checks {

/// Looks at the tables of a page whose first column is called `message`. In it, each piece of `code` is a message with
/// `…` for what differs from case to case; the text between two `…` must be somewhere in the sources, in one line.
/// @param root  Folder of the project.
/// @param path  The page, below it.
/// @return      Messages that no source has.
[[nodiscard]] Problems check_quoted_messages(const std::filesystem::path& root, const std::string& path);

}  // namespace lockstep::checks
