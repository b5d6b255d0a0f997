#pragma once
/// @file
/// Parses the parts of Markdown that the checkers need: fenced blocks, the comments about them, headings
/// and links.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "course/text_file.hpp"

namespace lockstep::course {

/// A fenced block of code or output.
struct FencedBlock {
  std::string language;            ///< From the opening fence: "cpp", "sh", "text", or empty.
  std::size_t first_index = 0;     ///< Line index of the opening fence.
  std::vector<std::string> lines;  ///< Between the fences.
  std::string line_above;          ///< The last non-empty line above the fence; may be empty.
  std::size_t index_above = 0;
};

/// A link or image.
struct Link {
  std::string target;  ///< As written: "ring.cpp#L4-L9".
  std::size_t index = 0;
};

/// A place in a file that a link can name after "#".
struct Anchor {
  std::string name;  ///< As GitHub generates it from a heading: "the-ring-in-c".
  std::size_t index = 0;
};

/// A part of a file that a link names: "ring.cpp#L40-L78".
struct LineRange {
  std::string path;       ///< As written, before the "#".
  std::size_t first = 1;  ///< Counted from 1.
  std::size_t last = 1;   ///< Inclusive.
};

struct MarkdownFile {
  TextFile text;
  std::vector<std::string>
      prose;  ///< Line by line without fenced blocks, `code` and comments; same count as text.lines.
  std::vector<std::string> visible;  ///< As prose, but with `code`: what the page's reader sees outside of blocks.
  std::vector<FencedBlock> blocks;
  std::vector<Link> links;      ///< Outside of blocks and comments.
  std::vector<Anchor> anchors;  ///< Of its headings, and those written in HTML.
};

/// The "```" or "~~~" (or longer) that opens or closes a block on this line; empty otherwise.
[[nodiscard]] std::string fence_of(std::string_view line);

/// Parses a file. An unclosed fence runs to the end.
[[nodiscard]] MarkdownFile parse_markdown(TextFile text);

/// Turns a path written in `file` into one relative to the root; an empty path means the file itself.
[[nodiscard]] std::string resolve_path(const MarkdownFile& file, const std::string& path);

/// The range in a link's target, or nothing if the target names no lines.
[[nodiscard]] std::optional<LineRange> parse_line_range(std::string_view target);

/// The range of the last link on `line` that names lines.
[[nodiscard]] std::optional<LineRange> line_range_in(std::string_view line);

/// The text of an HTML comment that stands alone on `line`: "run: x" for "<!-- run: x -->".
[[nodiscard]] std::optional<std::string> comment_on(std::string_view line);

/// The line index of an anchor; nothing if the file has no such anchor.
[[nodiscard]] std::optional<std::size_t> index_of_anchor(const MarkdownFile& file, std::string_view name);

/// A paragraph of Markdown as plain text for a terminal: links become their text; tags and the marks of emphasis and
/// code are dropped.
[[nodiscard]] std::string without_markup(std::string paragraph);

/// GitHub's anchor of a heading: lower case, blanks to '-', punctuation dropped.
[[nodiscard]] std::string anchor_of(std::string_view heading);

}  // namespace lockstep::course
