#pragma once
/// @file
/// Translates CUDA source to C++: `kernel<<<grid, block>>>(x)` becomes a call, `extern __shared__ T name[];` a pointer.
/// Everything else, including comments and line ends, is unchanged, so that compilers and the checker report the user's
/// lines.
///
///     kernel<float><<<grid, block>>>(x, 3);
///     ::lockstep::emulator::launch_function({__FILE__, __LINE__}, "kernel<float>", kernel<float>, grid, block)(x, 3);
///
/// A kernel's address that is cast to void* is passed through known_kernel(), so that cudaLaunchKernel() can call it.
///
/// A kernel with deduced template arguments, or an overloaded one, has no address at this point: it is passed as a
/// generic lambda to launch_call(), which calls it with the unconverted arguments.
#include <map>
#include <string>
#include <string_view>

#include "emulator/translate/declarations.hpp"

namespace lockstep::translate {

/// Context of a source.
struct Surroundings {
  std::string file;     ///< Name in messages and #line.
  KernelNames kernels;  ///< Declared in this source and in the files that it includes.
  std::map<std::string, std::string, std::less<>> inclusions;  ///< Quoted name to the path that replaces it.
};

/// The C++ of a CUDA source, with the same line numbers.
/// @throws FormatError  "file:line:column: error: ...": a launch or a shared array that cannot be parsed, or a feature
///                      that the emulator lacks.
[[nodiscard]] std::string translate_source(std::string_view source, const Surroundings& surroundings);

/// The input for the compiler: the translation, preceded by lines that include the emulated <cuda_runtime.h> (as nvcc
/// does) and the functions that the translation calls, and by a #line directive.
[[nodiscard]] std::string translation_unit(std::string_view source, const Surroundings& surroundings);

}  // namespace lockstep::translate
