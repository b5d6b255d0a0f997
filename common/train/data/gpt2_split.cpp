#include "data/gpt2_split.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/utf8.hpp"
#include "data/unicode_ranges.hpp"

namespace lockstep::data {

namespace {

enum class Kind { kLetter, kNumber, kBlank, kSign, kEnd };

constexpr std::array<std::string_view, 7> kContractions = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

bool contains(std::span<const CodePointRange> ranges, char32_t code_point) {
  const auto behind = std::ranges::upper_bound(ranges, code_point, {}, &CodePointRange::first);
  return behind != ranges.begin() && code_point <= std::prev(behind)->last;
}

// Unicode's property White_Space (PropList.txt), which has not changed since version 6.3.
bool is_blank(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

Kind kind_of(char32_t code_point) {
  if (is_blank(code_point)) return Kind::kBlank;
  if (contains(letter_ranges(), code_point)) return Kind::kLetter;
  return contains(number_ranges(), code_point) ? Kind::kNumber : Kind::kSign;
}

std::array<Kind, 128> ascii_kinds() {
  std::array<Kind, 128> kinds{};
  for (std::size_t c = 0; c < kinds.size(); ++c) kinds[c] = kind_of(static_cast<char32_t>(c));
  return kinds;
}

char32_t code_point_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  char32_t code_point = byte(0) & (0xFFU >> (character.size() + 1));  // + 1: as many ones as bytes, then a zero
  for (std::size_t i = 1; i < character.size(); ++i) code_point = (code_point << 6) | (byte(i) & 0x3FU);
  return code_point;
}

struct Character {
  std::size_t bytes = 0;
  Kind kind = Kind::kEnd;
};

Character character_at(std::string_view text, std::size_t at) {
  static const std::array<Kind, 128> kAscii = ascii_kinds();
  if (at >= text.size()) return {};
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < kAscii.size()) return {1, kAscii[first]};
  const std::size_t bytes = utf8_character_bytes(text.substr(at));
  return bytes == 0 ? Character{1, Kind::kSign} : Character{bytes, kind_of(code_point_of(text.substr(at, bytes)))};
}

// The first position from `at` on with a character of another kind.
std::size_t end_of_run(std::string_view text, std::size_t at, Kind kind) {
  for (Character next = character_at(text, at); next.kind == kind; next = character_at(text, at)) at += next.bytes;
  return at;
}

// Whitespace [begin, end) before a character: all but the last are a piece, so that a space can join that character.
std::size_t end_of_blanks(std::string_view text, std::size_t begin) {
  std::size_t end = begin, last = begin;
  for (Character next = character_at(text, end); next.kind == Kind::kBlank; next = character_at(text, end)) {
    last = end;
    end += next.bytes;
  }
  const bool is_one = last == begin;
  return end == text.size() || is_one ? end : last;
}

// Tries the alternatives of the regular expression in their order.
std::size_t end_of_piece(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  const auto* const contraction =
      std::ranges::find_if(kContractions, [&](std::string_view word) { return rest.starts_with(word); });
  if (contraction != kContractions.end()) return at + contraction->size();
  const Character first = character_at(text, at);
  const std::size_t behind_space = rest.front() == ' ' ? at + 1 : at;
  const Kind kind = behind_space > at ? character_at(text, behind_space).kind : first.kind;
  if (kind == Kind::kBlank || kind == Kind::kEnd) return end_of_blanks(text, at);
  return end_of_run(text, behind_space, kind);
}

}  // namespace

std::vector<std::string_view> gpt2_split(std::string_view text) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_piece(text, at);
    pieces.push_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

}  // namespace lockstep::data
