#include "net/handshake.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/handshake_wire.hpp"

namespace lockstep::net {

Nonce make_nonce() {
  Nonce nonce{};
  auto* raw = reinterpret_cast<unsigned char*>(nonce.data());
  if (RAND_bytes(raw, static_cast<int>(nonce.size())) != 1) throw Error("the system gave no random bytes");
  return nonce;
}

Proof prove(const std::string& token, Side side, const Identity& identity, const Nonce& client_nonce,
            const Nonce& server_nonce) {
  ByteWriter message;
  message.put_text(side == Side::kClient ? "lockstep client 1" : "lockstep server 1");
  message.put(static_cast<std::uint16_t>(identity.role)).put(identity.generation).put(identity.rank).put(identity.tag);
  message.put_bytes(client_nonce).put_bytes(server_nonce);
  Proof proof{};
  unsigned int proof_bytes = 0;
  const auto* raw = reinterpret_cast<const unsigned char*>(message.bytes().data());
  const auto* made = HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()), raw, message.bytes().size(),
                          reinterpret_cast<unsigned char*>(proof.data()), &proof_bytes);
  if (made == nullptr || proof_bytes != proof.size()) throw Error("HMAC-SHA256 is not available");
  return proof;
}

bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::vector<std::byte> encode_hello(const Identity& identity, const Nonce& nonce) {
  ByteWriter hello;
  hello.put(kHandshakeMagic).put(kHandshakeVersion).put(static_cast<std::uint16_t>(identity.role));
  hello.put(identity.generation).put(identity.rank).put(identity.tag).put_bytes(nonce);
  return hello.take();
}

std::pair<Identity, Nonce> decode_hello(std::span<const std::byte> bytes, const std::string& peer) {
  ByteReader reader(bytes);
  if (reader.get<std::uint32_t>() != kHandshakeMagic) {
    throw FormatError(concat(peer, " sent \"", printable(bytes), "\", which is no Lockstep handshake"));
  }
  if (const auto version = reader.get<std::uint16_t>(); version != kHandshakeVersion) {
    throw FormatError(concat(peer, " speaks version ", version, " of the handshake, this program ", kHandshakeVersion));
  }
  Identity identity;
  identity.role = static_cast<Role>(reader.get<std::uint16_t>());
  identity.generation = reader.get<std::uint32_t>();
  identity.rank = reader.get<std::int32_t>();
  identity.tag = reader.get<std::uint64_t>();
  Nonce nonce{};
  std::ranges::copy(reader.get_bytes(kNonceBytes), nonce.begin());
  return {identity, nonce};
}

std::string_view name_of(Role role) noexcept {
  switch (role) {
    case Role::kStore:
      return "the store";
    case Role::kControl:
      return "the control plane";
    case Role::kCollective:
      return "a process group";
  }
  return "an unknown service";
}

HandshakeServer::HandshakeServer(StreamSocket socket, const std::string& token, const Identity& expected,
                                 const Deadline& deadline)
    : socket_(std::move(socket)), token_(&token), expected_(expected), deadline_(deadline) {}

// The few bytes of an answer fit any empty send buffer; a client whose buffer is full is none of ours.
void HandshakeServer::send_whole(std::span<const std::byte> bytes) {
  if (socket_.send_some(bytes) != bytes.size()) throw IoError(concat(socket_.peer(), " takes no data"));
}

void HandshakeServer::answer_hello() {
  std::tie(client_, client_nonce_) = decode_hello(received_, socket_.peer());
  server_nonce_ = make_nonce();
  ByteWriter challenge;
  challenge.put(kHandshakeMagic).put(kHandshakeVersion).put(std::uint16_t{0}).put_bytes(server_nonce_);
  challenge.put_bytes(prove(*token_, Side::kServer, client_, client_nonce_, server_nonce_));
  send_whole(challenge.bytes());
  is_challenged_ = true;
  received_bytes_ = 0;
}

HandshakeVerdict HandshakeServer::judge_proof() const {
  const Proof expected = prove(*token_, Side::kClient, client_, client_nonce_, server_nonce_);
  if (!is_equal(std::span(received_).first(kProofBytes), expected)) return HandshakeVerdict::kWrongToken;
  if (client_.role != expected_.role) return HandshakeVerdict::kWrongRole;
  if (client_.generation != expected_.generation) return HandshakeVerdict::kWrongGeneration;
  return HandshakeVerdict::kAccepted;
}

std::optional<Identity> HandshakeServer::advance() {
  for (;;) {
    const std::size_t wanted = is_challenged_ ? kProofBytes : kHelloBytes;
    const std::size_t count = socket_.receive_some(std::span(received_).first(wanted).subspan(received_bytes_));
    received_bytes_ += count;
    // Garbage is refused at its first four bytes; waiting for a whole hello would let a short one sit here.
    if (!is_challenged_ && received_bytes_ >= 4 && ByteReader(received_).get<std::uint32_t>() != kHandshakeMagic) {
      const std::string shown = printable(std::span(received_).first(received_bytes_));
      throw FormatError(concat(socket_.peer(), " sent \"", shown, "\", which is no Lockstep handshake"));
    }
    if (count == 0) return std::nullopt;
    if (received_bytes_ < wanted) continue;
    if (is_challenged_) break;
    answer_hello();
  }
  const HandshakeVerdict verdict = judge_proof();
  ByteWriter answer;
  answer.put(kHandshakeMagic).put(kHandshakeVersion).put(static_cast<std::uint16_t>(verdict)).put(expected_.generation);
  send_whole(answer.bytes());
  if (verdict == HandshakeVerdict::kAccepted) return client_;
  throw Error(concat(socket_.peer(), " was refused: wrong ",
                     verdict == HandshakeVerdict::kWrongToken        ? "token"
                     : verdict == HandshakeVerdict::kWrongGeneration ? "generation"
                                                                     : "port"));
}

}  // namespace lockstep::net
