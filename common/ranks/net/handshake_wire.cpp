#include "net/handshake_wire.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include <algorithm>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "net/bytes.hpp"

namespace lockstep::net {
namespace {

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

void put_terms(ByteWriter& writer, const HandshakeTerms& terms) {
  writer.put(static_cast<std::uint16_t>(terms.client.role)).put(terms.client.generation).put(terms.client.rank);
  writer.put(terms.client.tag);
  writer.put(static_cast<std::uint8_t>(terms.wanted)).put(static_cast<std::uint8_t>(terms.agreed));
  writer.put_bytes(terms.client_nonce).put_bytes(terms.server_nonce);
}

Proof hmac(const std::string& token, std::span<const std::byte> message) {
  Proof proof{};
  unsigned int proof_bytes = 0;
  const auto* made = HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()), raw(message), message.size(),
                          reinterpret_cast<unsigned char*>(proof.data()), &proof_bytes);
  if (made == nullptr || proof_bytes != proof.size()) throw Error("HMAC-SHA256 is not available");
  return proof;
}

// HKDF-SHA256: fills `derived` with bytes that look random without `secret`.
void derive(const std::string& secret, std::span<const std::byte> salt, std::span<const std::byte> purpose,
            std::span<std::byte> derived) {
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> kdf(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr),
                                                                        &EVP_PKEY_CTX_free);
  std::size_t bytes = derived.size();
  const bool is_derived =
      kdf != nullptr && EVP_PKEY_derive_init(kdf.get()) == 1 &&
      EVP_PKEY_CTX_set_hkdf_md(kdf.get(), EVP_sha256()) == 1 &&
      EVP_PKEY_CTX_set1_hkdf_salt(kdf.get(), raw(salt), static_cast<int>(salt.size())) == 1 &&
      EVP_PKEY_CTX_set1_hkdf_key(kdf.get(), raw(as_bytes(secret)), static_cast<int>(secret.size())) == 1 &&
      EVP_PKEY_CTX_add1_hkdf_info(kdf.get(), raw(purpose), static_cast<int>(purpose.size())) == 1 &&
      EVP_PKEY_derive(kdf.get(), reinterpret_cast<unsigned char*>(derived.data()), &bytes) == 1;
  if (!is_derived || bytes != derived.size()) throw Error("HKDF-SHA256 is not available");
}

}  // namespace

Nonce make_nonce() {
  Nonce nonce{};
  auto* random = reinterpret_cast<unsigned char*>(nonce.data());
  if (RAND_bytes(random, static_cast<int>(nonce.size())) != 1) throw Error("the system gave no random bytes");
  return nonce;
}

Proof prove_client(const std::string& token, const HandshakeTerms& terms) {
  ByteWriter message;
  put_terms(message.put_text("lockstep client 2"), terms);
  return hmac(token, message.bytes());
}

Proof prove_server(const std::string& token, const HandshakeTerms& terms, HandshakeVerdict verdict,
                   std::uint32_t generation) {
  ByteWriter message;
  put_terms(message.put_text("lockstep server 2"), terms);
  message.put(static_cast<std::uint16_t>(verdict)).put(generation);
  return hmac(token, message.bytes());
}

bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::unique_ptr<FrameMac> make_frame_mac(const std::string& token, const HandshakeTerms& terms, Side side) {
  if (terms.agreed == FrameProtection::kChecksum) return nullptr;
  ByteWriter salt, purpose;
  salt.put_bytes(terms.client_nonce).put_bytes(terms.server_nonce);
  put_terms(purpose.put_text("lockstep frames 2"), terms);
  struct {
    FrameMac::Key from_client, from_server;
  } keys{};
  derive(token, salt.bytes(), purpose.bytes(), std::as_writable_bytes(std::span(&keys, 1)));
  return side == Side::kClient ? std::make_unique<FrameMac>(keys.from_client, keys.from_server)
                               : std::make_unique<FrameMac>(keys.from_server, keys.from_client);
}

FrameProtection wanted_protection(const StreamSocket& socket) {
  if (const auto forced = environment::get_int("LOCKSTEP_FRAME_MAC", 0, 1)) {
    return *forced == 1 ? FrameProtection::kMac : FrameProtection::kChecksum;
  }
  return socket.is_within_host() ? FrameProtection::kChecksum : FrameProtection::kMac;
}

std::vector<std::byte> encode_hello(const HandshakeTerms& terms) {
  ByteWriter hello;
  hello.put(kHandshakeMagic).put(kHandshakeVersion).put(static_cast<std::uint8_t>(terms.client.role));
  hello.put(static_cast<std::uint8_t>(terms.wanted)).put(terms.client.generation).put(terms.client.rank);
  hello.put(terms.client.tag).put_bytes(terms.client_nonce);
  return hello.take();
}

HandshakeTerms decode_hello(std::span<const std::byte> bytes, const std::string& peer) {
  ByteReader reader(bytes);
  if (reader.get<std::uint32_t>() != kHandshakeMagic) {
    throw FormatError(concat(peer, " sent \"", printable(bytes), "\", which is not a Lockstep handshake"));
  }
  check_version(reader.get<std::uint16_t>(), peer);
  HandshakeTerms terms;
  terms.client.role = static_cast<Role>(reader.get<std::uint8_t>());
  const auto wanted = reader.get<std::uint8_t>();
  if (wanted > static_cast<int>(FrameProtection::kMac)) {
    throw FormatError(concat(peer, " asks for an unknown protection of frames, ", static_cast<int>(wanted)));
  }
  terms.wanted = static_cast<FrameProtection>(wanted);
  terms.client.generation = reader.get<std::uint32_t>();
  terms.client.rank = reader.get<std::int32_t>();
  terms.client.tag = reader.get<std::uint64_t>();
  std::ranges::copy(reader.get_bytes(kNonceBytes), terms.client_nonce.begin());
  return terms;
}

void check_version(std::uint16_t version, const std::string& peer) {
  if (version == kHandshakeVersion) return;
  throw FormatError(concat(peer, " speaks version ", version, " of the handshake, this program ", kHandshakeVersion,
                           ": all ranks must run the same version of Lockstep"));
}

}  // namespace lockstep::net
