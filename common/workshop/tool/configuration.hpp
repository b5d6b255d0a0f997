#pragma once
/// @file
/// What `lockstep config` writes and `lockstep launch` reads: a JSON file with the few settings that a job needs.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/option_checks.hpp"

namespace lockstep::tool {

/// One setting.
struct Setting {
  std::string key;          ///< In the file: "num_processes".
  std::string question;     ///< In a few words, for the dialog.
  std::string explanation;  ///< One line: what to choose when.
  std::string suggestion;   ///< What suits this machine.
  std::string neutral;      ///< The value that programs have anyway.
  OptionCheck check;        ///< Of a value as it is typed.
  bool is_number = false;   ///< In the file a number, unless it is "auto".
  std::string variable;     ///< By which programs learn of it; empty: only the launcher does.
};

/// All settings, in the order in which they are asked for.
[[nodiscard]] std::vector<Setting> settings();

/// Values as they are typed, by key; settings that are left out have no entry.
using Configuration = std::map<std::string, std::string>;

/// `$XDG_CONFIG_HOME/lockstep/config.json`, where XDG_CONFIG_HOME is `~/.config` unless it is set.
/// @throws UsageError  Neither XDG_CONFIG_HOME nor HOME is set.
/// @source  freedesktop.org, "XDG Base Directory Specification".
[[nodiscard]] std::filesystem::path default_configuration_file();

/// @throws IoError     The file cannot be read.
/// @throws FormatError Not a JSON object, an unknown key, or a value of the wrong type or that is not allowed; names
///                     file and key.
[[nodiscard]] Configuration read_configuration(const std::filesystem::path& file);

/// Writes the file, and the folder that it is in. @throws IoError  Names the file or folder.
void write_configuration(const std::filesystem::path& file, const Configuration& configuration);

/// "num_processes 2, device cpu": settings in their order.
[[nodiscard]] std::string describe(const Configuration& configuration);

/// How many NVIDIA GPUs the kernel shows.
[[nodiscard]] int gpu_count();

/// `path` with `~` for the user's home folder: for what is shown, and pasted.
[[nodiscard]] std::string shown(const std::filesystem::path& path);

}  // namespace lockstep::tool
