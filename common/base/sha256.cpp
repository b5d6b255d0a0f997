#include "base/sha256.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/error.hpp"

namespace lockstep {

std::string sha256_hex(std::string_view bytes) {
  std::array<std::uint8_t, 32> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
    throw Error("OpenSSL cannot compute SHA-256");
  return hex_digits(digest);
}

std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view message) {
  std::array<std::uint8_t, 32> code{};
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), code.data(), nullptr) == nullptr)
    throw Error("OpenSSL cannot compute HMAC-SHA256");
  return code;
}

std::string hex_digits(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  return text;
}

}  // namespace lockstep
