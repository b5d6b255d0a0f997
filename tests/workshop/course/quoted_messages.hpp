#pragma once
/// @file
/// Checks that messages quoted on a page occur in the programs.
#include <filesystem>
#include <string>

#include "project_files.hpp"

namespace lockstep::checks {

/// Checks the tables of a page whose first column is called `message`. Each piece of `code` in it is a message, with
/// `…` for the variable parts; the text between two `…` must occur on one line of the sources.
/// @param root  The project's folder.
/// @param path  The page, relative to `root`.
/// @return  Messages that no source contains.
[[nodiscard]] Problems check_quoted_messages(const std::filesystem::path& root, const std::string& path);

}  // namespace lockstep::checks
