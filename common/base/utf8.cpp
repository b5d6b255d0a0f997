#include "base/utf8.hpp"

namespace lockstep {

namespace {

// C0 except line feed and tab, DEL, and C1 (U+0080 to U+009F), which some terminals treat like ESC and a letter.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out.append("\\x").append({kDigits[value / 16], kDigits[value % 16]});
  }
}

}  // namespace

std::size_t utf8_character_bytes(std::string_view text) noexcept {
  const auto byte_at = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte_at(0);
  if (text.empty() || first < 0x80) return text.empty() ? 0 : 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte reveals overlong forms (E0, F0), surrogates (ED) and code points above U+10FFFF (F4).
  const unsigned lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte_at(1) < lowest || byte_at(1) > highest) return 0;
  for (std::size_t i = 2; i < bytes; ++i) {
    if (byte_at(i) < 0x80 || byte_at(i) > 0xBF) return 0;
  }
  return bytes;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = utf8_character_bytes(text);
    const std::string_view character = text.substr(0, bytes == 0 ? 1 : bytes);
    if (bytes == 0 || is_control(character)) {
      append_escaped(out, character);
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

}  // namespace lockstep
