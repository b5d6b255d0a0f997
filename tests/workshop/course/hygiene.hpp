#pragma once
/// @file
/// Finds private data in committed files: paths of one machine, hosts of one network.
#include <filesystem>

#include "project_files.hpp"

namespace lockstep::checks {

/// Absolute paths into home or working folders, addresses other than loopback and documentation, and URLs of hosts that
/// are not on the list of public ones in hygiene.cpp. Skips binary files.
[[nodiscard]] Problems check_hygiene(const std::filesystem::path& root);

/// Calls of posix_spawn(), posix_spawnp() and popen() outside of common/base/process.cpp, the only source that may
/// start programs: it closes the descriptors that they must not inherit. Ignores tests/support/failing_calls.cpp, which
/// replaces these functions.
[[nodiscard]] Problems check_program_starts(const std::filesystem::path& root);

}  // namespace lockstep::checks
