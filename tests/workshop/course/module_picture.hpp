#pragma once
/// @file
/// Holds what common/README.md and the README of each wing say of the modules against the targets of the build.
#include <filesystem>

#include "project_files.hpp"
#include "target_graph.hpp"

namespace lockstep::checks {

/// What is wrong with them:
///   - the pictures of the wings (the first fenced block of each README, `a, b -> c` for "c uses a and b") together
///   lack a
///     dependency between modules, show one that is none, or name what is no module. Arrows that follow from others may
///     be left out. A wing's picture shows what its own modules use;
///   - the table of common/README.md lacks a folder of common/, or has one twice;
///   - a share that the table states ("31 %" of the lines of common/) is wrong by more than three points.
/// @param root   The project's root.
/// @param graph  Its targets.
[[nodiscard]] Problems check_module_picture(const std::filesystem::path& root, const TargetGraph& graph);

}  // namespace lockstep::checks
