#pragma once
/// @file
/// Reads and writes JSON text with nlohmann/json, in one source file: its parser and writer are inline code that takes
/// longer to compile than most of our sources.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lockstep {

/// Parses JSON.
/// @throws nlohmann::json::parse_error  It is no JSON; says where.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

/// The treatment of strings that are not valid UTF-8, which JSON requires.
enum class BadUtf8 {
  kThrow,
  kReplace  ///< Replaces them by U+FFFD.
};

/// For `indent`: no line breaks.
inline constexpr int kOneLine = -1;

/// `value` as text. @param indent  Spaces per level of nesting; kOneLine: everything on one line.
/// @throws FormatError  A string is not UTF-8, with BadUtf8::kThrow; says which.
[[nodiscard]] std::string dump_json(const nlohmann::json& value, int indent = kOneLine,
                                    BadUtf8 bad_utf8 = BadUtf8::kThrow);
/// The same, with an object's members in insertion order.
[[nodiscard]] std::string dump_json(const nlohmann::ordered_json& value, int indent = kOneLine,
                                    BadUtf8 bad_utf8 = BadUtf8::kThrow);

}  // namespace lockstep
