#pragma once
/// @file
/// A CUDA source with the files that it includes by quotes: kernels and launches in headers are translated too.
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::translate {

/// Result of translating files.
struct TranslatedTree {
  std::vector<std::filesystem::path>
      inputs;             ///< The source, then all files that it includes by quotes, directly or not.
  bool has_main = false;  ///< The source itself has a main().
};

/// Writes the C++ of `source` to `output`, and that of headers that need translation below "<output>.headers/".
///
/// A quoted name is looked up in the folder of the including file; others, and names in angle brackets, are left to the
/// compiler. Every name found becomes an absolute path, because the output is in another folder.
/// @param shown_name  Name of the source in messages, #line and __FILE__; headers are named relative to it.
/// @throws FormatError  As translate_source(). @throws IoError  A file cannot be read or written.
TranslatedTree translate_tree(const std::filesystem::path& source, const std::filesystem::path& output,
                              const std::string& shown_name);

/// A Makefile rule with the inputs of `output`, for CMake's DEPFILE.
[[nodiscard]] std::string dependency_rule(const std::filesystem::path& output,
                                          const std::vector<std::filesystem::path>& inputs);

}  // namespace lockstep::translate
