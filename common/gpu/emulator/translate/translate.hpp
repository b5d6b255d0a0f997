#pragma once
/// @file
/// CUDA source as C++: `kernel<<<grid, block>>>(x)` becomes a call, `extern __shared__ T name[];` a pointer. Everything
/// else, comments and line ends included, stays as it is, so that compilers and the checker name the user's lines.
///
///     kernel<float><<<grid, block>>>(x, 3);
///     ::lockstep::emulator::launch_function({__FILE__, __LINE__}, "kernel<float>", kernel<float>, grid, block)(x, 3);
///
/// A kernel whose template arguments are deduced from the call, or that is overloaded, has no address yet: it is passed
/// as a generic lambda to launch_call(), which calls it with the arguments as they are.
#include <map>
#include <string>
#include <string_view>

#include "emulator/translate/declarations.hpp"

namespace lockstep::translate {

/// What is known about a source from outside.
struct Surroundings {
  std::string file;     ///< As messages and #line name it.
  KernelNames kernels;  ///< Declared in this source and in those that it includes.
  std::map<std::string, std::string, std::less<>> inclusions;  ///< Quoted name to the path that replaces it.
};

/// The C++ of a CUDA source: the same number of lines in the same order.
/// @throws FormatError  "file:line:column: error: ...": a launch or a shared array that cannot be read, or a feature
/// that
///                      the emulator lacks.
[[nodiscard]] std::string translate_source(std::string_view source, const Surroundings& surroundings);

/// What a compiler is given: the translation, after lines that include the look-alike of <cuda_runtime.h> (nvcc does
/// so, too) and what the translation calls, and one that says which file and line follow.
[[nodiscard]] std::string translation_unit(std::string_view source, const Surroundings& surroundings);

}  // namespace lockstep::translate
