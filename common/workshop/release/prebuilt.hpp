#pragma once
/// @file
/// The compiled parts of a release: objects of omitted sources, judges, mistakes.
#include <filesystem>
#include <string>

#include "release/plan.hpp"

namespace lockstep::release {

struct PrebuiltOptions {
  std::filesystem::path root;
  std::string preset;  ///< CMake preset; its build folder is build/PRESET.
  int jobs = 1;        ///< Parallel compilers.
};

/// Compiles, and writes to `folder`: objects/TARGET/SOURCE.o and exercises/PROGRAM, without debug information.
/// common/cmake/LockstepPrebuilt.cmake uses them.
/// @throws Error  Compilation fails. @throws IoError
void write_prebuilt(const PrebuiltOptions& options, const Plan& plan, const std::filesystem::path& folder);

}  // namespace lockstep::release
