#pragma once
/// @file
/// Fingerprints of files, and secret numbers from a key.
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::grading {

/// SHA-256 as 64 hexadecimal digits. @throws Error  OpenSSL refuses it.
[[nodiscard]] std::string sha256(std::string_view bytes);

/// A number that nobody can tell without the key: the first bytes of HMAC-SHA256(key, name), below 2^53 so that JSON
/// keeps it. @throws Error  OpenSSL refuses it.
[[nodiscard]] std::uint64_t secret_number(std::string_view key, std::string_view name);

}  // namespace lockstep::grading
