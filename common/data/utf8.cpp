#include "data/utf8.hpp"

namespace lockstep::data {

std::size_t utf8_character_bytes(std::string_view text) noexcept {
  const auto byte_at = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte_at(0);
  if (text.empty() || first < 0x80) return text.empty() ? 0 : 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte tells overlong forms (E0, F0), surrogates (ED) and what lies behind U+10FFFF (F4).
  const unsigned lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte_at(1) < lowest || byte_at(1) > highest) return 0;
  for (std::size_t i = 2; i < bytes; ++i) {
    if (byte_at(i) < 0x80 || byte_at(i) > 0xBF) return 0;
  }
  return bytes;
}

}  // namespace lockstep::data
