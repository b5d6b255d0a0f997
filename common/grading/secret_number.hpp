#pragma once
/// @file
/// Seeds that nobody knows without the class's key.
#include <cstdint>
#include <string_view>

namespace lockstep::grading {

/// A number that nobody can tell without the key: the first bytes of HMAC-SHA256(key, name), below 2^53 so that JSON
/// keeps it. @throws Error  OpenSSL refuses it.
[[nodiscard]] std::uint64_t secret_number(std::string_view key, std::string_view name);

}  // namespace lockstep::grading
