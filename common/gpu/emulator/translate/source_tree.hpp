#pragma once
/// @file
/// A CUDA source with the files that it includes by quotes: kernels and launches in headers are translated as well.
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::translate {

/// What a translation of files has read and found.
struct TranslatedTree {
  std::vector<std::filesystem::path> inputs;  ///< The source, then what it includes by quotes, directly or not.
  bool has_kernel = false;                    ///< Some file declares one.
  bool has_main = false;                      ///< The source itself has a main().
};

/// Writes the C++ of `source` to `output`, and that of headers that need translation below "<output>.headers/".
///
/// A quoted name is looked for beside the file that includes it; others, and names in angle brackets, are left to the
/// compiler. Every name that is found becomes an absolute path, since the output stands in another folder.
/// @param shown_name  How messages, #line and __FILE__ name the source; headers are named relative to it.
/// @throws FormatError  As translate_source(). @throws IoError  A file cannot be read or written.
TranslatedTree translate_tree(const std::filesystem::path& source, const std::filesystem::path& output,
                              const std::string& shown_name);

/// A Makefile rule that says what `output` is made from, for CMake's DEPFILE.
[[nodiscard]] std::string dependency_rule(const std::filesystem::path& output,
                                          const std::vector<std::filesystem::path>& inputs);

}  // namespace lockstep::translate
