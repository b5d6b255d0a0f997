#pragma once
/// @file
/// Text files as lines, and their place in the project; used by every checker and listing.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::course {

/// A file's lines without their line ends. A value type.
struct TextFile {
  std::string name;                ///< As messages show it: "train_gpt_ddp.cpp" or a path below the project's root.
  std::vector<std::string> lines;  ///< Line 1 is lines[0]; a final newline adds no line.

  /// "name:7" for the line at `index` 6.
  [[nodiscard]] std::string place(std::size_t index) const;
};

/// Splits `text` at newlines; "\r\n" counts as one.
[[nodiscard]] std::vector<std::string> split_lines(std::string_view text);

/// Reads a file.
/// @param path  The file.
/// @param name  What messages call it.
/// @throws IoError  It cannot be read; names the path.
[[nodiscard]] TextFile read_text_file(const std::filesystem::path& path, std::string name);

/// `text` without white space at either end.
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;

/// Trimmed, with each run of white space replaced by one blank; lines are compared in this form.
[[nodiscard]] std::string collapse_blanks(std::string_view text);

/// Terminal columns of UTF-8 `text`, counting one per code point.
[[nodiscard]] std::size_t column_count(std::string_view text) noexcept;

}  // namespace lockstep::course
