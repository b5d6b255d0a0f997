#pragma once
/// @file
/// The file that `lockstep config` writes and `lockstep launch` reads: JSON with the few settings that a job needs.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/option_checks.hpp"

namespace lockstep::tool {

struct Setting {
  std::string key;          ///< Its key in the file: "num_processes".
  std::string question;     ///< Short, for the dialog.
  std::string explanation;  ///< One line: when to choose which value.
  std::string suggestion;   ///< The value that suits this machine.
  std::string neutral;      ///< The programs' own default.
  OptionCheck check;        ///< Checks a value as typed.
  bool is_number = false;   ///< Stored as a number, unless it is "auto".
  std::string variable;     ///< The environment variable that carries it to programs; empty: only the launcher uses it.
};

/// All settings, in the order of the dialog.
[[nodiscard]] std::vector<Setting> settings();

/// Values as typed, by key; settings that are left out have no entry.
using Configuration = std::map<std::string, std::string>;

/// `$XDG_CONFIG_HOME/lockstep/config.json`; an unset XDG_CONFIG_HOME means `~/.config`.
/// @throws UsageError  Neither XDG_CONFIG_HOME nor HOME is set.
/// @source  freedesktop.org, "XDG Base Directory Specification".
[[nodiscard]] std::filesystem::path default_configuration_file();

/// @throws IoError      The file cannot be read.
/// @throws FormatError  Not a JSON object, an unknown key, or a value that is not allowed; names file and key.
[[nodiscard]] Configuration read_configuration(const std::filesystem::path& file);

/// Writes the file, and creates its folder. @throws IoError  Names the file or folder.
void write_configuration(const std::filesystem::path& file, const Configuration& configuration);

/// "num_processes 2, device cpu": the settings in dialog order.
[[nodiscard]] std::string describe(const Configuration& configuration);

/// The number of NVIDIA GPUs that the kernel lists.
[[nodiscard]] int gpu_count();

/// `path` with `~` for the user's home folder, for text that is shown or pasted.
[[nodiscard]] std::string shown(const std::filesystem::path& path);

}  // namespace lockstep::tool
