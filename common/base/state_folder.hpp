#pragma once
/// @file
/// Where this user's programs keep data on this host after they end.
#include <filesystem>

namespace lockstep {

/// TMPDIR; /tmp if that is unset or empty. @throws IoError  TMPDIR is not a folder.
[[nodiscard]] std::filesystem::path temporary_folder();

/// LOCKSTEP_STATE_DIR, else a folder of this user (mode 0700) in temporary_folder(). @throws IoError  As
/// temporary_folder().
[[nodiscard]] std::filesystem::path state_folder();

/// Makes a folder that only this user can read, unless it exists. @throws IoError  It cannot be made, belongs to
/// another user, or is writable for others, who could replace its content.
void make_private_folder(const std::filesystem::path& path);

}  // namespace lockstep
