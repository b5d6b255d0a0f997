#include <algorithm>
#include <array>
#include <thread>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/handshake.hpp"
#include "net/handshake_wire.hpp"

namespace lockstep::net {
namespace {

using namespace std::chrono_literals;

// Reads an answer of the listener. Its first bytes are looked at alone: another program's answer may be shorter.
template <std::size_t kBytes>
std::array<std::byte, kBytes> receive_answer(StreamSocket& socket, const Deadline& deadline) {
  constexpr std::size_t kStartBytes = 6;  // magic and version
  std::array<std::byte, kBytes> answer{};
  const auto start = std::span(answer).template first<kStartBytes>();
  socket.receive_exactly(start, deadline);
  ByteReader reader{std::span<const std::byte>(start)};
  if (reader.get<std::uint32_t>() != kHandshakeMagic) {
    throw FormatError(concat(socket.peer(), " answered \"", printable(start), "\", which is no Lockstep handshake; ",
                             "another program listens there (is the port right?)"));
  }
  if (const auto version = reader.get<std::uint16_t>(); version != kHandshakeVersion) {
    throw FormatError(
        concat(socket.peer(), " speaks version ", version, " of the handshake, this program ", kHandshakeVersion));
  }
  socket.receive_exactly(std::span(answer).template subspan<kStartBytes>(), deadline);
  return answer;
}

[[noreturn]] void refuse(HandshakeVerdict verdict, std::uint32_t generation, const Identity& identity,
                         const std::string& peer) {
  if (verdict == HandshakeVerdict::kWrongGeneration) {
    throw Error(concat(peer, " is in generation ", generation, " of the job, this rank in ", identity.generation,
                       ": a rank of an earlier start"));
  }
  if (verdict == HandshakeVerdict::kWrongRole) {
    throw Error(concat(peer, " belongs to this job but is not ", name_of(identity.role), ": wrong port"));
  }
  throw Error(concat(peer, " refused this rank's job token; LOCKSTEP_TOKEN must be the same on all ranks"));
}

}  // namespace

// One run of the client's end over a fresh connection.
void authenticate(StreamSocket& socket, const std::string& token, const Identity& identity, const Deadline& deadline) {
  const Nonce nonce = make_nonce();
  socket.send_all(encode_hello(identity, nonce), deadline);

  const auto challenge = receive_answer<kChallengeBytes>(socket, deadline);
  Nonce server_nonce{};
  std::ranges::copy(std::span(challenge).subspan(8, kNonceBytes), server_nonce.begin());  // past magic, version, zeros
  const Proof expected = prove(token, Side::kServer, identity, nonce, server_nonce);
  const bool is_trusted = is_equal(std::span(challenge).last(kProofBytes), expected);
  // A listener with another token still gets a proof: it is worthless to it, and its verdict makes it log our address.
  socket.send_all(prove(token, Side::kClient, identity, nonce, server_nonce), deadline);
  if (!is_trusted) refuse(HandshakeVerdict::kWrongToken, 0, identity, socket.peer());

  const auto answer = receive_answer<kVerdictBytes>(socket, deadline);
  ByteReader reader(std::span<const std::byte>(answer).subspan(6));  // past magic and version
  const auto verdict = static_cast<HandshakeVerdict>(reader.get<std::uint16_t>());
  if (verdict != HandshakeVerdict::kAccepted) refuse(verdict, reader.get<std::uint32_t>(), identity, socket.peer());
}

StreamSocket connect_authenticated(const SocketAddress& address, const std::string& token, const Identity& identity,
                                   const std::string& peer_name, const Deadline& deadline, const Deadline& connect_by) {
  for (;;) {
    StreamSocket socket = StreamSocket::connect(address, connect_by.earliest(deadline));
    socket.set_peer(concat(peer_name, " (", address.text(), ")"));
    try {
      authenticate(socket, token, identity, deadline);
      return socket;
    } catch (const IoError& error) {
      // A listener swamped by strangers drops whoever is not through yet; honest ranks come again.
      if (deadline.remaining() < 50ms) throw;
      if (connect_by.has_expired()) throw TimeoutError(error.what());
      std::this_thread::sleep_for(20ms);
    } catch (const TimeoutError& error) {
      throw TimeoutError(concat(error.what(), "; connected, but the handshake was not answered (is another program ",
                                "listening there?)"));
    }
  }
}

}  // namespace lockstep::net
