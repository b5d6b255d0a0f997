#pragma once
/// @file
/// Where programs of this user keep what outlives them on this host.
#include <filesystem>

namespace lockstep {

/// TMPDIR; /tmp if that is unset or empty. @throws IoError  TMPDIR is not a folder.
[[nodiscard]] std::filesystem::path temporary_folder();

/// LOCKSTEP_STATE_DIR, else a folder of this user's (mode 0700) in temporary_folder(). @throws IoError  As that.
[[nodiscard]] std::filesystem::path state_folder();

/// Makes a folder that only this user can read, if it is not there. @throws IoError  It cannot be made, belongs to
/// another user, or others may write to it, who could replace what programs keep there.
void make_private_folder(const std::filesystem::path& path);

}  // namespace lockstep
