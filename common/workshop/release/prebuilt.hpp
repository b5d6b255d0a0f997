#pragma once
/// @file
/// What a release has compiled: objects of sources that it leaves out, judges, mistakes.
#include <filesystem>
#include <string>

#include "release/plan.hpp"

namespace lockstep::release {

/// Where and how it is compiled.
struct PrebuiltOptions {
  std::filesystem::path root;  ///< Of the project.
  std::string preset;          ///< Of CMake; its build folder is build/PRESET.
  int jobs = 1;                ///< Compilers at once.
};

/// Compiles and writes below `folder`: objects/TARGET/SOURCE.o and exercises/PROGRAM, without debug information.
/// common/cmake/LockstepPrebuilt.cmake uses them.
/// @throws Error  It does not compile. @throws IoError
void write_prebuilt(const PrebuiltOptions& options, const Plan& plan, const std::filesystem::path& folder);

}  // namespace lockstep::release
