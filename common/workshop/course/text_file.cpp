#include "course/text_file.hpp"

#include <cctype>
#include <cerrno>
#include <fstream>
#include <iterator>

#include "base/error.hpp"

namespace lockstep::course {

namespace {

bool is_blank(char character) { return std::isspace(static_cast<unsigned char>(character)) != 0; }

}  // namespace

std::string TextFile::place(std::size_t index) const { return concat(name, ":", index + 1); }

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

TextFile read_text_file(const std::filesystem::path& path, std::string name) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw IoError(concat("cannot read ", path.string()), errno);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return {std::move(name), split_lines(text)};
}

std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string collapse_blanks(std::string_view text) {
  std::string collapsed;
  for (const char character : trim(text)) {
    if (!is_blank(character))
      collapsed += character;
    else if (collapsed.back() != ' ')
      collapsed += ' ';
  }
  return collapsed;
}

std::size_t column_count(std::string_view text) noexcept {
  std::size_t columns = 0;
  for (const char character : text) columns += (static_cast<unsigned char>(character) & 0xC0U) != 0x80U ? 1 : 0;
  return columns;
}

}  // namespace lockstep::course
