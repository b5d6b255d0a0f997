#pragma once
/// @file
/// A CUDA source made into a program for the emulator, and kept for the next time.
#include <filesystem>
#include <string>

#include "tool/project.hpp"

namespace lockstep::tool {

/// How the kernels are compiled.
enum class EmulatedCode {
  kPlain,    ///< Fast: wrong accesses go unnoticed or crash.
  kChecked,  ///< Every access calls the checker.
};

/// Translates, compiles and links `source`, unless that was done before with equal files and options: the result is
/// kept below <build>/emulate under a name made of all that it depends on.
/// @return  Path of the program.
/// @throws UsageError  The file is missing, has no kernel or no main(), or uses what the emulator lacks.
/// @throws Error       The compiler refused it; its messages, which name the source's own lines, are on standard error.
[[nodiscard]] std::filesystem::path build_emulated(const Project& project, const std::string& source,
                                                   EmulatedCode code);

}  // namespace lockstep::tool
