#pragma once
/// @file
/// What no committed file may contain: paths of somebody's machine, hosts that only somebody's network knows.
#include <filesystem>

#include "project_files.hpp"

namespace lockstep::checks {

/// Absolute paths into home folders or working folders, addresses that are not loopback or documentation, and URLs of
/// hosts that are not on the list of public ones in hygiene.cpp. Binary files are skipped.
[[nodiscard]] Problems check_hygiene(const std::filesystem::path& root);

/// Calls of posix_spawn(), posix_spawnp() and popen() outside of common/base/process.cpp, which is the one source that
/// starts programs: it knows which descriptors they must not get. What takes the place of these functions in a test
/// (tests/support/failing_calls.cpp) is left out.
[[nodiscard]] Problems check_program_starts(const std::filesystem::path& root);

}  // namespace lockstep::checks
