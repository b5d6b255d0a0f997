#pragma once
/// @file
/// Reads the project's CMakeLists.txt files as far as targets, their files and their DEPENDS go.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::checks {

/// A library, program or test.
struct Target {
  std::string name;                          ///< "lockstep::net"; a program or test has its bare name.
  std::string folder;                        ///< "common/net"
  std::vector<std::string> headers;          ///< Public headers, paths below the root.
  std::vector<std::string> sources;          ///< Paths below the root.
  std::vector<std::string> public_depends;   ///< Seen by whoever depends on this target.
  std::vector<std::string> private_depends;  ///< Seen by this target alone.
};

/// A command of a CMake file with its arguments, quotes removed.
struct CmakeCommand {
  std::string name;
  std::vector<std::string> arguments;
};

/// The commands of a CMake file in order; comments are dropped, variables are not expanded.
[[nodiscard]] std::vector<CmakeCommand> parse_cmake(const std::string& text);

/// All targets made by lockstep_module, lockstep_chapter, lockstep_program, lockstep_test or add_library, by name.
/// target_link_libraries adds to them.
/// @param root   The project's root.
/// @param paths  project_files(root).
[[nodiscard]] std::map<std::string, Target> read_targets(const std::filesystem::path& root,
                                                         const std::vector<std::string>& paths);

}  // namespace lockstep::checks
