#pragma once
/// @file
/// Programs that the commands call: the compiler, ninja, the judges.
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::exercise {

/// What a program left behind.
struct Finished {
  int exit_code = 0;   ///< 128 + signal where one ended it.
  std::string output;  ///< Standard output; with kBoth, standard error too; with kNothing, none.
};

/// What is collected of a program's output; the rest goes to this program's own.
enum class Collect { kNothing, kOutput, kBoth };

/// Runs a program to its end in a folder. @throws IoError  It cannot be started.
[[nodiscard]] Finished run(const std::vector<std::string>& command, const std::filesystem::path& folder,
                           Collect collect);

/// Becomes a program; returns only by throwing. @throws IoError  It cannot be started.
[[noreturn]] void become(const std::vector<std::string>& command);

}  // namespace lockstep::exercise
