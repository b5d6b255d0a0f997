#include "net/frame_mac.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/error.hpp"

namespace lockstep::net {
namespace {

constexpr std::size_t kIvBytes = 12;                       // the length that AES-GCM uses without hashing
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // OpenSSL's lengths are int
using Iv = std::array<unsigned char, kIvBytes>;

void check(int status) {
  if (status != 1) throw Error("AES-256-GCM is not available");
}

// An IV must not repeat under a key; the frame's number never does.
Iv iv_of(std::uint64_t number) noexcept {
  Iv iv{};
  for (std::size_t i = 0; i < sizeof number; ++i, number >>= 8) iv[i] = static_cast<unsigned char>(number & 0xFF);
  return iv;
}

void add(EVP_CIPHER_CTX* cipher, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kMostAtOnce));
    int ignored = 0;
    const auto* const raw = reinterpret_cast<const unsigned char*>(part.data());
    check(EVP_EncryptUpdate(cipher, nullptr, &ignored, raw, static_cast<int>(part.size())));
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace

void FrameMac::Free::operator()(evp_cipher_ctx_st* cipher) const noexcept { EVP_CIPHER_CTX_free(cipher); }

FrameMac::Direction::Direction(const Key& key) : cipher(EVP_CIPHER_CTX_new()) {
  if (!cipher) throw Error("AES-256-GCM is not available");
  const auto* const raw = reinterpret_cast<const unsigned char*>(key.data());
  check(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, raw, nullptr));
}

FrameMac::Tag FrameMac::Direction::next(std::span<const std::byte> header, std::span<const std::byte> payload) {
  check(EVP_EncryptInit_ex(cipher.get(), nullptr, nullptr, nullptr, iv_of(number++).data()));
  add(cipher.get(), header);
  add(cipher.get(), payload);
  int ignored = 0;
  std::array<unsigned char, 16> nothing{};  // receives no ciphertext
  check(EVP_EncryptFinal_ex(cipher.get(), nothing.data(), &ignored));
  Tag tag{};
  check(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag.size()), tag.data()));
  return tag;
}

FrameMac::FrameMac(const Key& sending, const Key& receiving) : sending_(sending), receiving_(receiving) {}

FrameMac::Tag FrameMac::next_sent(std::span<const std::byte> header, std::span<const std::byte> payload) {
  return sending_.next(header, payload);
}

bool FrameMac::is_next_received(std::span<const std::byte> header, std::span<const std::byte> payload,
                                std::span<const std::byte, 16> tag) {
  const Tag expected = receiving_.next(header, payload);
  return CRYPTO_memcmp(expected.data(), tag.data(), tag.size()) == 0;
}

}  // namespace lockstep::net
