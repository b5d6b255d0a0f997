#include "base/plain_text.hpp"

#include <cstdint>

namespace lockstep {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: the bytes are not UTF-8
};

// The first character of a text that is not empty. Refuses overlong forms, surrogates and code points above U+10FFFF.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || bytes > text.size()) return {};
  std::uint32_t code = byte(0) & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) return {};
  return {code, bytes};
}

// Controls, direction marks (U+202E reverses the following text), zero-width characters, line separators, variation
// selectors, tags, and noncharacters.
bool is_unseen(std::uint32_t code) {
  constexpr struct {
    std::uint32_t first, last;
  } kRanges[] = {{0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},    {0x180e, 0x180e},
                 {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfe00, 0xfe0f},  {0xfdd0, 0xfdef},
                 {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff}};
  for (const auto& range : kRanges)
    if (code >= range.first && code <= range.last) return true;
  return (code & 0xfffeU) == 0xfffe;
}

}  // namespace

std::string plain_text(std::string_view text, std::size_t most, LineBreaks line_breaks) {
  std::string plain;
  while (!text.empty()) {
    const Character one = first_character(text);
    const std::size_t bytes = one.bytes == 0 ? 1 : one.bytes;
    if (plain.size() + bytes > most) return plain + "...";
    const bool is_break = one.bytes == 1 && (one.code == '\n' || one.code == '\t');
    if (is_break)
      plain += line_breaks == LineBreaks::kKeep ? text[0] : ' ';
    else if (one.bytes == 0 || is_unseen(one.code))
      plain += '?';
    else
      plain += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return plain;
}

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '&')
      escaped += "&amp;";
    else if (letter == '<')
      escaped += "&lt;";
    else if (letter == '>')
      escaped += "&gt;";
    else if (letter == '"')
      escaped += "&quot;";
    else if (letter == '\'')
      escaped += "&#39;";
    else
      escaped += letter;
  }
  return escaped;
}

}  // namespace lockstep
