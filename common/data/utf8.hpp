#pragma once
/// @file
/// Where characters end in UTF-8.
#include <cstddef>
#include <string_view>

namespace lockstep::data {

/// Bytes of the character that `text` begins with; 0 where it begins with none (also where it is empty or cut off).
/// @source  The Unicode Standard, table 3-7: neither overlong forms nor surrogates.
[[nodiscard]] std::size_t utf8_character_bytes(std::string_view text) noexcept;

}  // namespace lockstep::data
