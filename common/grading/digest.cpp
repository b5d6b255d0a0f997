#include "grading/digest.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/error.hpp"

namespace lockstep::grading {

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned count = 0;
  if (::EVP_Digest(bytes.data(), bytes.size(), digest.data(), &count, ::EVP_sha256(), nullptr) != 1)
    throw Error("OpenSSL does not compute SHA-256");
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

std::uint64_t secret_number(std::string_view key, std::string_view name) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned count = 0;
  if (::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(name.data()), name.size(), code.data(), &count) == nullptr)
    throw Error("OpenSSL does not compute HMAC-SHA256");
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number = number << 8 | code[i];
  return number & ((std::uint64_t{1} << 53) - 1);
}

}  // namespace lockstep::grading
