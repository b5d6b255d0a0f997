#pragma once
/// @file
/// Where things are in this project, and how the tool starts them.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::tool {

/// Folders of the project that this tool was built from.
struct Project {
  std::filesystem::path root;      ///< LOCKSTEP_ROOT, else found from where the tool stands.
  std::filesystem::path build;     ///< build/<preset>
  std::filesystem::path programs;  ///< build/<preset>/bin
};

/// Where the programs beside this one are, wherever that is.
[[nodiscard]] std::filesystem::path program_folder();

/// @throws UsageError  The tool has been moved out of its build folder and LOCKSTEP_ROOT is not set.
[[nodiscard]] Project find_project();

/// Path of a program of the chapters.
/// @throws UsageError  There is none of that name; names the nearest one, or says how to build it.
[[nodiscard]] std::filesystem::path find_program(const Project& project, const std::string& name);

/// Variables for a program that the tool becomes.
using ProgramVariables = std::map<std::string, std::string>;

/// Becomes `command` (this process, its terminal and its signals). Returns only by throwing.
/// @throws IoError  It cannot be started.
[[noreturn]] void become(const std::vector<std::string>& command, const ProgramVariables& variables = {});

/// Runs `command` on this process's terminal and returns its exit code (128 + signal).
/// @throws IoError  It cannot be started.
[[nodiscard]] int run_and_wait(const std::vector<std::string>& command, const ProgramVariables& variables = {});

/// A number of ranks as a user writes it.
/// @param option  That it was given to, for the message.
/// @throws UsageError  Neither a number in [1, 1024] nor "auto" (as many as suitable_rank_count()).
[[nodiscard]] int parse_rank_count(const std::string& text, const std::string& option = "--nproc");

/// How many ranks suit this machine: 4 from four cores up, else 2, so that there is something to see.
[[nodiscard]] int suitable_rank_count();

}  // namespace lockstep::tool
