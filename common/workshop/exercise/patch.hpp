#pragma once
/// @file
/// Small changes of one file, in the unified format of `diff -u`.
#include <string>
#include <vector>

namespace lockstep::exercise {

/// Lines in a row that a patch looks for, and those in their place.
struct Hunk {
  std::vector<std::string> before;  ///< As they are in the file.
  std::vector<std::string> after;   ///< In their place.
};

/// A change of one file.
struct Patch {
  std::string head;         ///< The lines above "--- ", which say what the patch is for.
  std::string file;         ///< That it changes, below the project's root.
  std::vector<Hunk> hunks;  ///< In the order of the file.
};

/// @param text  As `diff -u a/FILE b/FILE` prints it, with any text above.
/// @throws FormatError  It changes no file, or more than one, or a line is none of a hunk.
[[nodiscard]] Patch parse_patch(const std::string& text);

/// The file as the patch makes it. Each hunk is found by its lines, not by the numbers in its head, so that a patch
/// still applies after lines have moved.
/// @throws FormatError  A hunk's lines are not in `text`, or in several places.
[[nodiscard]] std::string apply_patch(const Patch& patch, const std::string& text);

}  // namespace lockstep::exercise
