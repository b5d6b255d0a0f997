#pragma once
/// @file
/// Environment variables with types and errors that name the variable.
#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::environment {

/// The value of a variable, or nothing if it is unset or empty.
[[nodiscard]] std::optional<std::string> get(const std::string& name);

/// The value of an integer variable in [minimum, maximum], or nothing if it is unset or empty.
/// @throws FormatError  The value is not an integer or out of range; names variable, value and range.
[[nodiscard]] std::optional<std::int64_t> get_int(const std::string& name, std::int64_t minimum, std::int64_t maximum);

/// Parses an integer. @param name  Of the variable, for messages.
/// @throws FormatError  `text` is not an integer, or out of [minimum, maximum]; names variable, value and range.
[[nodiscard]] std::int64_t parse_int(const std::string& name, const std::string& text, std::int64_t minimum,
                                     std::int64_t maximum);

}  // namespace lockstep::environment
