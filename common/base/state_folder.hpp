#pragma once
/// @file
/// Where programs of this user keep what outlives them on this host.
#include <filesystem>

namespace lockstep {

/// LOCKSTEP_STATE_DIR, else a folder of this user's (mode 0700) below the folder for temporary files.
[[nodiscard]] std::filesystem::path state_folder();

/// Makes a folder that only this user can read, if it is not there. @throws IoError  It cannot be made, or belongs to
/// another user.
void make_private_folder(const std::filesystem::path& path);

}  // namespace lockstep
