#pragma once
/// @file
/// Checks the descriptions of modules in common/README.md and each wing's README against the targets of the build.
#include <filesystem>

#include "project_files.hpp"
#include "target_graph.hpp"

namespace lockstep::checks {

/// Finds faults in them:
///  - the wings' pictures (the first fenced block of each README, `a, b -> c` for "c uses a and b") together omit a
///    dependency between modules, show a false one, or name an unknown module. Arrows implied by others may be omitted.
///    A wing's picture shows its own modules' dependencies;
///  - the table of common/README.md omits a folder of common/, or has one twice;
///  - a share in the table ("31 %" of the lines of common/) is wrong by more than three points.
/// @param root   The project's root.
/// @param graph  Its targets.
[[nodiscard]] Problems check_module_picture(const std::filesystem::path& root, const TargetGraph& graph);

}  // namespace lockstep::checks
