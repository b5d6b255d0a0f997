#pragma once
/// @file
/// The declarations and features of a CUDA source that its translation depends on: kernels, main, included files, and
/// CUDA features that the emulator lacks.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::translate {

/// Facts about all kernels of one name, from all scanned files.
struct KernelName {
  bool is_template = false;          ///< Its declaration begins with `template`.
  std::size_t needed_arguments = 0;  ///< Template arguments that have no default.
  bool has_pack = false;             ///< Its template takes any number of arguments.
  std::size_t parameters = 0;        ///< Of the function.
  bool is_overloaded = false;        ///< Several functions or templates have the name.
  bool has_defaults = false;         ///< Some parameters have default values, which are lost in a pointer to it.
  bool is_defined = false;           ///< A body was seen.
};

/// By name without namespace.
using KernelNames = std::map<std::string, KernelName, std::less<>>;

/// A quoted `#include`.
struct Inclusion {
  std::string name;       ///< Between the quotes.
  std::size_t begin = 0;  ///< Offset of the opening quote.
  std::size_t end = 0;    ///< Past the closing one.
};

/// The declarations of a file.
struct Declarations {
  KernelNames kernels;                ///< Declared or defined.
  std::vector<Inclusion> inclusions;  ///< In source order.
  bool has_main = false;              ///< A function `main` outside namespaces.
};

/// Scans the declarations of a source. Never fails: the compiler reports what this does not understand.
[[nodiscard]] Declarations scan_declarations(std::string_view source);

/// Adds the kernels of another file.
void merge_kernels(KernelNames& all, const KernelNames& more);

/// Rejects features that the emulator lacks (inline PTX, textures, clusters of blocks, libraries of device code),
/// unless they are in a part that only nvcc compiles: under `#ifdef __CUDACC__` or `#if __CUDA_ARCH__ >= 800`.
/// @param file  For the message. @throws FormatError  "file:line:column: error: what, and what to use instead".
void reject_unsupported(std::string_view source, std::string_view file);

}  // namespace lockstep::translate
