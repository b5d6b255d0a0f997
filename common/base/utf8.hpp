#pragma once
/// @file
/// UTF-8: where characters end, and how text from outside is shown.
#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

/// Bytes of the character that `text` begins with; 0 where it begins with none (also where it is empty or cut off).
/// @source  The Unicode Standard, table 3-7: neither overlong forms nor surrogates.
[[nodiscard]] std::size_t utf8_character_bytes(std::string_view text) noexcept;

/// Whether all of `text` is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// `text` as a terminal may show it, for messages that quote files, peers or the command line. Control characters
/// (except line feed and tab) and bytes that are not UTF-8 become "\x1b"; all else stays.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace lockstep
