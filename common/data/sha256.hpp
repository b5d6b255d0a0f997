#pragma once
/// @file
/// SHA-256 of texts, as `sha256sum` prints it.
#include <string>
#include <string_view>

namespace lockstep::data {

/// 64 lower-case hexadecimal digits. @source  FIPS 180-4; computed by OpenSSL.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace lockstep::data
