#pragma once
/// @file
/// Holds `#include` lines against the dependencies of CMake's targets, and those against the architecture.
#include <filesystem>

#include "project_files.hpp"
#include "target_graph.hpp"

namespace lockstep::checks {

/// What is wrong with the project's dependencies:
///   - an #include of a module, chapter or library from outside that the file's target does not depend on;
///   - an #include of a module's private header from elsewhere (tests may);
///   - a source or header that belongs to no target and is not left out with a reason;
///   - a cycle, a dependency of common on chapters, of a chapter on a later one;
///   - comm knowing tensors, nn knowing ranks, oneDNN outside common/train/kernels.
/// @param root   The project's root, with common/, chapters/ and tests/.
/// @param graph  Its targets.
[[nodiscard]] Problems check_include_graph(const std::filesystem::path& root, const TargetGraph& graph);

}  // namespace lockstep::checks
