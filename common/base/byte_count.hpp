#pragma once
/// @file
/// Numbers of bytes as people write them: "200MiB".
#include <cstdint>
#include <optional>
#include <string>

#include "base/option_checks.hpp"

namespace lockstep {

/// "64KiB", "200MiB" or "1.5GiB", powers of 1024; "64KB", "200MB" or "1.5GB", powers of 1000; "4096" or "4096B".
/// Fractions of a byte are dropped.
/// @return  Nothing if `text` is something else, or more than 10^18 bytes.
[[nodiscard]] std::optional<std::uint64_t> parse_byte_count(const std::string& text);

/// For an option: a number of bytes that parse_byte_count() reads, at least 1.
[[nodiscard]] OptionCheck byte_count();

}  // namespace lockstep
