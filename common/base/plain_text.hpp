#pragma once
/// @file
/// Makes untrusted text harmless for terminals, files and pages.
#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

/// Treatment of line breaks and tabs.
enum class LineBreaks {
  kKeep,
  kReplace  ///< Each becomes a space.
};

/// `text` without anything that could control a terminal or mislead a reader: control characters (ESC among them),
/// marks that reverse the direction of writing, invisible characters, and bytes that are not UTF-8 each become '?'.
/// @param most  Bytes to keep. Longer text is cut between two characters, and "..." is appended.
/// @return  Valid UTF-8.
[[nodiscard]] std::string plain_text(std::string_view text, std::size_t most, LineBreaks line_breaks);

/// `text` with the reserved characters of HTML and XML (& < > " ') as entities.
[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace lockstep
