#pragma once
/// @file
/// Builds a CUDA source into a program for the emulator, and caches it.
#include <filesystem>
#include <string>

#include "tool/project.hpp"

namespace lockstep::tool {

enum class EmulatedCode {
  kPlain,    ///< Fast; wrong accesses go unnoticed or crash.
  kChecked,  ///< Every access calls the checker.
};

/// Translates, compiles and links `source`, unless the cache in <build>/emulate has it from equal files and options.
/// @return  Path of the program.
/// @throws UsageError  The file is missing, has no main(), or uses something that the emulator lacks.
/// @throws Error       Compilation failed; the compiler's messages, with the source's line numbers, are on standard
///         error.
[[nodiscard]] std::filesystem::path build_emulated(const Project& project, const std::string& source,
                                                   EmulatedCode code);

}  // namespace lockstep::tool
