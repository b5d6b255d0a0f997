#pragma once
/// @file
/// SHA-256 of texts, and codes that only the owner of a key can make.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

/// 64 lower-case hexadecimal digits, as `sha256sum` prints them. @source  FIPS 180-4; computed by OpenSSL.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// The message authentication code HMAC-SHA256. @source  RFC 2104; computed by OpenSSL.
[[nodiscard]] std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view message);

/// Two lower-case hexadecimal digits per byte.
[[nodiscard]] std::string hex_digits(std::span<const std::uint8_t> bytes);

}  // namespace lockstep
