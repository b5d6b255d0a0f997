#pragma once
/// @file
/// JSON's text, read and written by nlohmann/json in one source: its parser and its writer are inline code, which
/// takes longer to compile than most of our sources.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lockstep {

/// The value that `text` spells.
/// @throws nlohmann::json::parse_error  It is no JSON; says where.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

/// What to do about strings that are no UTF-8, which JSON must be.
enum class BadUtf8 {
  kThrow,   ///< An error.
  kReplace  ///< U+FFFD in their place.
};

/// An indentation: none, and no line breaks.
inline constexpr int kOneLine = -1;

/// `value` as text. @param indent  Spaces per level of nesting, on lines of their own; kOneLine: everything on one.
/// @throws nlohmann::json::type_error  A string is no UTF-8, with BadUtf8::kThrow.
[[nodiscard]] std::string dump_json(const nlohmann::json& value, int indent = kOneLine,
                                    BadUtf8 bad_utf8 = BadUtf8::kThrow);
/// The same with an object's members in the order in which they were set.
[[nodiscard]] std::string dump_json(const nlohmann::ordered_json& value, int indent = kOneLine,
                                    BadUtf8 bad_utf8 = BadUtf8::kThrow);

}  // namespace lockstep
