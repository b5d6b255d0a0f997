#pragma once
/// @file
/// The project's folders, and ways to start its programs.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::tool {

/// Folders of the project that this tool was built from.
struct Project {
  std::filesystem::path root;      ///< LOCKSTEP_ROOT, otherwise derived from the tool's own path.
  std::filesystem::path build;     ///< build/<preset>
  std::filesystem::path programs;  ///< build/<preset>/bin
};

/// The folder of this executable.
[[nodiscard]] std::filesystem::path program_folder();

/// @throws UsageError  The tool is not in its build folder and LOCKSTEP_ROOT is not set.
[[nodiscard]] Project find_project();

/// False for an installed tool: find_project() would throw.
[[nodiscard]] bool has_project();

/// How a user types the tool's name: "./lockstep" in the project's folder; "lockstep" if it is installed elsewhere.
[[nodiscard]] std::string tool_as_typed();

/// Help or advice that says "./lockstep", with tool_as_typed() in its place.
[[nodiscard]] std::string as_typed(const std::string& text);

/// Path of a chapter program.
/// @throws UsageError  No such program; names the nearest one, or says how to build it.
[[nodiscard]] std::filesystem::path find_program(const Project& project, const std::string& name);

/// Environment variables for a started program.
using ProgramVariables = std::map<std::string, std::string>;

/// Replaces this process by `command`, which keeps its terminal and signals. Returns only by throwing.
/// @throws IoError  It cannot be started.
[[noreturn]] void become(const std::vector<std::string>& command, const ProgramVariables& variables = {});

/// Runs `command` on this process's terminal and returns its exit code (128 + signal).
/// @throws IoError  It cannot be started.
[[nodiscard]] int run_and_wait(const std::vector<std::string>& command, const ProgramVariables& variables = {});

/// Parses a number of ranks.
/// @param option  The option's name, for the message.
/// @throws UsageError  Neither a number in [1, 1024] nor "auto" (suitable_rank_count()).
[[nodiscard]] int parse_rank_count(const std::string& text, const std::string& option = "--nproc");

/// The default number of ranks: 4 with at least four cores, otherwise 2, the fewest that communicate.
[[nodiscard]] int suitable_rank_count();

}  // namespace lockstep::tool
