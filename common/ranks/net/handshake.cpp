#include "net/handshake.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/handshake_wire.hpp"

namespace lockstep::net {

HandshakeServer::HandshakeServer(StreamSocket socket, const std::string& token, const Identity& expected,
                                 const Deadline& deadline)
    : socket_(std::move(socket)), token_(&token), expected_(expected), deadline_(deadline) {}

// An answer is a few bytes, which fit any empty send buffer; a client whose buffer is full is not one of ours.
void HandshakeServer::send_whole(std::span<const std::byte> bytes) {
  if (socket_.send_some(bytes) != bytes.size()) throw IoError(concat(socket_.peer(), " takes no data"));
}

void HandshakeServer::answer_hello() {
  ByteWriter challenge;
  challenge.put(kHandshakeMagic).put(kHandshakeVersion);
  try {
    terms_ = decode_hello(received_, socket_.peer());
  } catch (const FormatError&) {
    // A client of another version reads this much of any answer, and can then report the mismatch.
    send_whole(challenge.bytes());
    throw;
  }
  terms_.agreed = std::max(terms_.wanted, wanted_protection(socket_));
  terms_.server_nonce = make_nonce();
  challenge.put(static_cast<std::uint8_t>(terms_.agreed)).put(std::uint8_t{0}).put_bytes(terms_.server_nonce);
  send_whole(challenge.bytes());
  is_challenged_ = true;
  received_bytes_ = 0;
}

HandshakeVerdict HandshakeServer::judge_proof() const {
  if (!is_equal(std::span(received_).first(kProofBytes), prove_client(*token_, terms_))) {
    return HandshakeVerdict::kWrongToken;
  }
  if (terms_.client.role != expected_.role) return HandshakeVerdict::kWrongRole;
  if (terms_.client.generation != expected_.generation) return HandshakeVerdict::kWrongGeneration;
  return HandshakeVerdict::kAccepted;
}

// Only a client that has proved the token gets a proof: a stranger could test guesses against one.
void HandshakeServer::send_verdict(HandshakeVerdict verdict) {
  const bool is_stranger = verdict == HandshakeVerdict::kWrongToken;
  const std::uint32_t generation = is_stranger ? 0 : expected_.generation;
  ByteWriter answer;
  answer.put(kHandshakeMagic).put(kHandshakeVersion).put(static_cast<std::uint16_t>(verdict)).put(generation);
  answer.put_bytes(is_stranger ? Proof{} : prove_server(*token_, terms_, verdict, generation));
  send_whole(answer.bytes());
}

std::optional<Identity> HandshakeServer::advance() {
  for (;;) {
    const std::size_t wanted = is_challenged_ ? kProofBytes : kHelloBytes;
    const std::size_t count = socket_.receive_some(std::span(received_).first(wanted).subspan(received_bytes_));
    received_bytes_ += count;
    // Garbage is refused after its first four bytes; a garbage message shorter than a hello would otherwise wait here.
    if (!is_challenged_ && received_bytes_ >= 4 && ByteReader(received_).get<std::uint32_t>() != kHandshakeMagic) {
      const std::string shown = printable(std::span(received_).first(received_bytes_));
      throw FormatError(concat(socket_.peer(), " sent \"", shown, "\", which is not a Lockstep handshake"));
    }
    if (count == 0) return std::nullopt;
    if (received_bytes_ < wanted) continue;
    if (is_challenged_) break;
    answer_hello();
  }
  const HandshakeVerdict verdict = judge_proof();
  send_verdict(verdict);
  if (verdict == HandshakeVerdict::kAccepted) {
    socket_.set_frame_mac(make_frame_mac(*token_, terms_, Side::kServer));
    return terms_.client;
  }
  throw Error(concat(socket_.peer(), " was refused: wrong ",
                     verdict == HandshakeVerdict::kWrongToken        ? "token"
                     : verdict == HandshakeVerdict::kWrongGeneration ? "generation"
                                                                     : "port"));
}

}  // namespace lockstep::net
