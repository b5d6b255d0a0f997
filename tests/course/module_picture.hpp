#pragma once
/// @file
/// Holds what common/README.md says of the modules against the targets of the build.
#include <filesystem>

#include "project_files.hpp"
#include "target_graph.hpp"

namespace lockstep::checks {

/// What is wrong with common/README.md:
///   - its picture (the first fenced block, `a, b -> c` for "c uses a and b") lacks a dependency between modules, shows
///     one that is none, or names what is no module. Arrows that follow from others may be left out;
///   - the table below it lacks a folder of common/, or has one twice;
///   - a share that the table states ("31 %" of the lines of common/) is wrong by more than three points.
/// @param root   The project's root.
/// @param graph  Its targets.
[[nodiscard]] Problems check_module_picture(const std::filesystem::path& root, const TargetGraph& graph);

}  // namespace lockstep::checks
