#pragma once
/// @file
/// Output for people: numbers with fixed digits, aligned columns, colours if they are wanted.
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// A fixed number of decimals: with_digits(2.0, 3) is "2.000".
[[nodiscard]] std::string with_digits(double value, int digits);

/// Rows of text in aligned columns: the first column left-aligned, all others right-aligned, two spaces between them.
/// Widths are counted in bytes, so cells should be ASCII. A value type.
class TextTable {
 public:
  /// Rows may differ in length.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// All rows, each ending in a newline, without trailing spaces.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Whether the user's terminal understands control sequences: TERM is set, and not "dumb".
[[nodiscard]] bool terminal_has_controls();

/// Whether colours are welcome on the user's terminal: it has controls, and NO_COLOR is unset or empty.
/// @source no-color.org, "NO_COLOR" (2017).
[[nodiscard]] bool terminal_has_colours();

/// Whether a program should write colours to `fd`: it is a terminal, and terminal_has_colours().
[[nodiscard]] bool wants_colours(int fd);

/// The current width of the terminal `fd`; nothing if it is not a terminal, or reports no width.
[[nodiscard]] std::optional<int> terminal_columns(int fd);

/// For wrap_words(): lines stay as they are.
inline constexpr std::size_t kAnyColumns = std::numeric_limits<std::size_t>::max();

/// Breaks the lines of a text at blanks, so that each has at most `columns` characters; a longer word stays whole.
/// @param hanging  Blanks before each continuation line; if that is more than half of `columns`, 6 are used instead.
[[nodiscard]] std::string wrap_words(std::string_view text, std::size_t columns, std::size_t hanging = 0);

/// As wrap_words(), for text that is written to `fd`: whole lines unless it is a terminal.
[[nodiscard]] std::string wrap_for(int fd, std::string_view text, std::size_t hanging = 0);

/// Control sequences for a line that is redrawn in place. A terminal that is too narrow cuts the text off instead of
/// wrapping it. The cursor waits at the beginning of the line, so that the next text replaces all of this one even if a
/// resized terminal has wrapped it. ED (erase to the end of the screen) is never sent from the top left corner, where
/// tmux would move the screen to its history instead of clearing it.
/// @source ECMA-48, "ED"; DEC private mode 7 (DECAWM), as in xterm's "Control Sequences".
inline constexpr std::string_view kClearLiveLine = "\r \033[J\r";
[[nodiscard]] std::string live_line(std::string_view text);

/// Tells other writers of this process whether a live line is on the terminal. Thread safety: any thread.
void set_live_line_shown(bool is_shown) noexcept;
/// The value last set; false at first.
[[nodiscard]] bool is_live_line_shown() noexcept;

}  // namespace lockstep
