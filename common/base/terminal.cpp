#include "base/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <sstream>

namespace lockstep {
namespace {

std::atomic<bool> is_shown_now = false;

bool has_value(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// Characters that a terminal shows of a UTF-8 text: bytes that do not continue one, and no control sequences (ECMA-48:
// "ESC [", then all up to a letter), such as colours.
std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  bool is_control = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\033[")) is_control = true;
    if (!is_control && (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++width;
    if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) is_control = false;
  }
  return width;
}

// The bytes of `line` that go on the next row: up to the last blank that leaves it at most `columns` characters, or to
// the first blank behind a word that is longer. All of a line that fits.
std::size_t bytes_of_row(std::string_view line, std::size_t columns) {
  if (width_of(line) <= columns) return line.size();
  std::size_t end = std::string_view::npos;
  for (std::size_t at = line.find(' ', line.find_first_not_of(' ')); at != std::string_view::npos;
       at = line.find(' ', at + 1)) {
    if (end != std::string_view::npos && width_of(line.substr(0, at)) > columns) break;
    if (line[at - 1] != ' ') end = at;
  }
  return std::min(end, line.size());
}

std::string wrap_line(std::string_view line, std::size_t columns, std::size_t hanging) {
  std::string text;
  for (std::string blanks;; blanks.assign(hanging, ' ')) {
    const std::size_t room = columns - std::min(columns, blanks.size());
    const std::size_t bytes = bytes_of_row(line, std::max<std::size_t>(room, 1));
    text.append(blanks).append(line.substr(0, bytes));
    const std::size_t rest = line.find_first_not_of(' ', bytes);
    if (rest == std::string_view::npos) return text;
    line.remove_prefix(rest);
    text += '\n';
  }
}

}  // namespace

std::string with_digits(double value, int digits) {
  if (std::isnan(value)) return "nan";  // the sign of a NaN means nothing
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << value;
  return std::move(out).str();
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

bool terminal_has_controls() { return has_value("TERM") && std::string_view(std::getenv("TERM")) != "dumb"; }

bool terminal_has_colours() { return terminal_has_controls() && !has_value("NO_COLOR"); }

bool wants_colours(int fd) { return isatty(fd) == 1 && terminal_has_colours(); }

std::optional<int> terminal_columns(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

std::string wrap_words(std::string_view text, std::size_t columns, std::size_t hanging) {
  constexpr std::size_t kNarrowHanging = 6;
  std::string wrapped;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    wrapped += wrap_line(text.substr(0, end), columns, hanging <= columns / 2 ? hanging : kNarrowHanging);
    if (end < text.size()) wrapped += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return wrapped;
}

std::string wrap_for(int fd, std::string_view text, std::size_t hanging) {
  const std::optional<int> columns = terminal_columns(fd);
  return wrap_words(text, columns ? static_cast<std::size_t>(*columns) : kAnyColumns, hanging);
}

std::string live_line(std::string_view text) {
  return std::string("\r\033[?7l").append(text).append("\033[J\033[?7h\r");
}

void set_live_line_shown(bool is_shown) noexcept { is_shown_now.store(is_shown, std::memory_order_relaxed); }

bool is_live_line_shown() noexcept { return is_shown_now.load(std::memory_order_relaxed); }

}  // namespace lockstep
