#pragma once
/// @file
/// UTF-8: finding the ends of characters, and showing text from outside.
#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

/// Bytes of the first character of `text`; 0 if `text` does not begin with one (also if it is empty or cut off).
/// @source  The Unicode Standard, table 3-7: neither overlong forms nor surrogates.
[[nodiscard]] std::size_t utf8_character_bytes(std::string_view text) noexcept;

/// Whether all of `text` is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Makes `text` safe to show in a terminal, for messages that quote files, peers or the command line. Control
/// characters (except line feed and tab) and bytes that are not UTF-8 become "\x1b"; everything else stays.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace lockstep
