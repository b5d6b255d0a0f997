#pragma once
/// @file
/// Checks `#include` lines against the dependencies of CMake's targets, and those against the architecture.
#include <filesystem>

#include "project_files.hpp"
#include "target_graph.hpp"

namespace lockstep::checks {

/// Finds faults in the project's dependencies:
///  - an #include of a module, chapter or external library that the file's target does not depend on;
///  - an #include of a module's private header from elsewhere (tests may);
///  - a source or header that belongs to no target and is not left out with a reason;
///  - a cycle, a dependency of common on chapters, or of a chapter on a later one;
///  - a use of tensors in comm, of ranks in nn, or of oneDNN outside common/train/kernels.
/// @param root   The project's root, with common/, chapters/ and tests/.
/// @param graph  Its targets.
[[nodiscard]] Problems check_include_graph(const std::filesystem::path& root, const TargetGraph& graph);

}  // namespace lockstep::checks
