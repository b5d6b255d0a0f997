#pragma once
/// @file
/// What no committed file may contain: paths of somebody's machine, hosts that only somebody's network knows.
#include <filesystem>

#include "project_files.hpp"

namespace lockstep::checks {

/// Absolute paths into home folders or working folders, addresses that are not loopback or documentation, and URLs of
/// hosts that are not on the list of public ones in hygiene.cpp. Binary files are skipped.
[[nodiscard]] Problems check_hygiene(const std::filesystem::path& root);

}  // namespace lockstep::checks
