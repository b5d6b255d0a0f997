#pragma once
/// @file
/// What a CUDA source declares and uses, as far as its translation needs to know: kernels, main, the files it includes,
/// and features of CUDA that the emulator lacks.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::translate {

/// All that is known of the kernels of one name, from all files that were scanned.
struct KernelName {
  bool is_template = false;          ///< Its declaration begins with `template`.
  std::size_t needed_arguments = 0;  ///< Template arguments that have no default.
  bool has_pack = false;             ///< Its template takes any number of arguments.
  std::size_t parameters = 0;        ///< Of the function.
  bool is_overloaded = false;        ///< More than one function or template has the name.
  bool has_defaults = false;         ///< Some parameters have default values, which a pointer to it forgets.
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

/// What a file declares.
struct Declarations {
  KernelNames kernels;                ///< Those declared or defined.
  std::vector<Inclusion> inclusions;  ///< In their order.
  bool has_main = false;              ///< A function `main` stands outside namespaces.
};

/// Reads the declarations of a source. Never fails: what it does not understand is the compiler's to report.
[[nodiscard]] Declarations scan_declarations(std::string_view source);

/// Adds the kernels of another file.
void merge_kernels(KernelNames& all, const KernelNames& more);

/// Refuses what the emulator lacks (inline PTX, cooperative groups, textures, graphs, libraries of device code), unless
/// it stands where only nvcc compiles it: behind `#ifdef __CUDACC__` or `#if __CUDA_ARCH__ >= 800`.
/// @param file  For the message. @throws FormatError  "file:line:column: error: what, and what to use instead".
void reject_unsupported(std::string_view source, std::string_view file);

}  // namespace lockstep::translate
