#pragma once
/// @file
/// Small changes of one file, in the unified format of `diff -u`.
#include <string>
#include <vector>

namespace lockstep::exercise {

/// Consecutive lines that a patch looks for, and their replacement.
struct Hunk {
  std::vector<std::string> before;  ///< Lines in the file.
  std::vector<std::string> after;   ///< Their replacement.
};

/// A change to one file.
struct Patch {
  std::string head;         ///< The lines above "--- ", which describe the patch.
  std::string file;         ///< The file to change, relative to the project's root.
  std::vector<Hunk> hunks;  ///< In file order.
};

/// Parses a patch. @param text  As `diff -u a/FILE b/FILE` prints it, with any text above.
/// @throws FormatError  It does not change exactly one file, or a line belongs to no hunk.
[[nodiscard]] Patch parse_patch(const std::string& text);

/// Applies the patch. Each hunk is located by its lines, not by the numbers in its head, so that a patch still applies
/// after lines have moved.
/// @throws FormatError  A hunk's lines do not occur in `text`, or occur several times.
[[nodiscard]] std::string apply_patch(const Patch& patch, const std::string& text);

}  // namespace lockstep::exercise
