#pragma once
/// @file
/// The project's targets as CMake knows them: common/cmake/LockstepGraph.cmake writes them to <build>/targets.json.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::checks {

/// A library, program or test.
struct Target {
  std::string name;                          ///< "lockstep::net"; a target without an alias has its bare name.
  std::string folder;                        ///< "common/ranks/net"
  std::vector<std::string> headers;          ///< Public headers, paths below the root.
  std::vector<std::string> sources;          ///< Paths below the root, private headers too where they are listed.
  std::vector<std::string> public_depends;   ///< Seen by whoever depends on this target.
  std::vector<std::string> private_depends;  ///< Seen by this target alone.
  std::string kind = {};                     ///< "executable", "static", "interface", ...

  /// Both kinds of dependencies.
  [[nodiscard]] std::vector<std::string> depends() const;
};

/// What a build consists of.
struct TargetGraph {
  std::map<std::string, Target> targets;  ///< By name.
  /// Files and folders that belong to no target of this build, each with the reason.
  std::map<std::string, std::string> left_out;

  /// Whether `path`, or a folder that it lies in, is left out.
  [[nodiscard]] bool is_left_out(const std::string& path) const;
};

/// Reads what lockstep_write_graph() wrote.
/// @throws IoError      The file cannot be read.
/// @throws FormatError  It is no such file.
[[nodiscard]] TargetGraph read_target_graph(const std::filesystem::path& file);

}  // namespace lockstep::checks
