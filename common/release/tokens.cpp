#include "release/tokens.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace lockstep::release {
namespace {

constexpr std::array<std::string_view, 21> kTwoCharacters = {
    "::", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++",
    "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##"};

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the string or character that begins at `begin` ends; without an end on its line, it is a single quote.
std::size_t end_of_quoted(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  for (std::size_t at = begin + 1; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;
    }
  }
  return begin + 1;
}

std::size_t end_of_number(std::string_view text, std::size_t begin) {
  std::size_t at = begin;
  while (at < text.size()) {
    const bool is_separator = text[at] == '\'' && at + 1 < text.size() && is_name_character(text[at + 1]);
    if (!is_name_character(text[at]) && text[at] != '.' && !is_separator) break;
    ++at;
  }
  return at;
}

std::size_t end_of_token(std::string_view text, std::size_t begin) {
  const char first = text[begin];
  if (std::isdigit(static_cast<unsigned char>(first)) != 0) return end_of_number(text, begin);
  if (first == '"' || first == '\'') return end_of_quoted(text, begin);
  if (is_name_character(first)) {
    const auto end = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_name_character);
    return static_cast<std::size_t>(end - text.begin());
  }
  const bool is_pair = std::ranges::find(kTwoCharacters, text.substr(begin, 2)) != kTwoCharacters.end();
  return begin + (is_pair ? 2 : 1);
}

// Behind the comment that begins at `begin`; `begin` where there is none.
std::size_t behind_comment(std::string_view text, std::size_t begin) {
  const std::string_view opening = text.substr(begin, 2);
  if (opening == "//") return std::min(text.size(), text.find('\n', begin));
  if (opening != "/*") return begin;
  const std::size_t close = text.find("*/", begin + 2);
  return close == std::string_view::npos ? begin + 2 : close + 2;  // in prose, a lonely "/*" opens nothing
}

}  // namespace

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = behind_comment(text, at);
    if (end == at && std::isspace(static_cast<unsigned char>(text[at])) != 0) end = at + 1;
    if (end == at) {
      end = end_of_token(text, at);
      tokens.push_back({std::string(text.substr(at, end - at)), line});
    }
    line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at = end;
  }
  return tokens;
}

}  // namespace lockstep::release
