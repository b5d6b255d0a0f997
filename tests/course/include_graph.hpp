#pragma once
/// @file
/// Holds `#include` lines against the DEPENDS lists in CMake, and those lists against the architecture.
#include <filesystem>

#include "project_files.hpp"

namespace lockstep::checks {

/// What is wrong with the project's dependencies:
///   - an #include of a module, chapter or library from outside that the file's target does not depend on;
///   - an #include of a module's private header from elsewhere (tests may);
///   - a source or header that no target lists;
///   - a dependency on a target that does not exist, a cycle, common on chapters, a chapter on a later one;
///   - comm knowing tensors, nn knowing ranks, oneDNN outside common/kernels.
/// @param root  The project's root, with common/, chapters/ and tests/.
[[nodiscard]] Problems check_include_graph(const std::filesystem::path& root);

}  // namespace lockstep::checks
