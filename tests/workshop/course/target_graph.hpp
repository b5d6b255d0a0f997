#pragma once
/// @file
/// The project's targets in CMake; common/cmake/LockstepGraph.cmake writes them to <build>/targets.json.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::checks {

/// A library, program or test.
struct Target {
  std::string name;                          ///< "lockstep::net"; the bare name for a target without an alias.
  std::string folder;                        ///< "common/ranks/net"
  std::vector<std::string> headers;          ///< Public headers, relative to the root.
  std::vector<std::string> sources;          ///< Relative to the root; with private headers that are listed.
  std::vector<std::string> public_depends;   ///< Inherited by targets that depend on this one.
  std::vector<std::string> private_depends;  ///< For this target alone.
  std::string kind = {};                     ///< "executable", "static", "interface", ...

  /// Public and private dependencies.
  [[nodiscard]] std::vector<std::string> depends() const;
};

struct TargetGraph {
  std::map<std::string, Target> targets;  ///< By name.
  /// Files and folders that belong to no target of this build, each with its reason.
  std::map<std::string, std::string> left_out;

  /// True if `path`, or a folder that contains it, is left out.
  [[nodiscard]] bool is_left_out(const std::string& path) const;
};

/// Reads the file written by lockstep_write_graph().
/// @throws IoError      The file cannot be read.
/// @throws FormatError  It is not such a file.
[[nodiscard]] TargetGraph read_target_graph(const std::filesystem::path& file);

}  // namespace lockstep::checks
