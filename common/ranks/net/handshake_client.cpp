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

// Reads an answer of the listener. Checks its first bytes separately: another program's answer may be shorter.
template <std::size_t kBytes>
std::array<std::byte, kBytes> receive_answer(StreamSocket& socket, const Deadline& deadline) {
  std::array<std::byte, kBytes> answer{};
  const auto start = std::span(answer).template first<kVersionBytes>();
  socket.receive_exactly(start, deadline);
  ByteReader reader{std::span<const std::byte>(start)};
  if (reader.get<std::uint32_t>() != kHandshakeMagic) {
    throw FormatError(concat(socket.peer(), " answered \"", printable(start), "\", which is not a Lockstep handshake; ",
                             "another program listens there (is the port right?)"));
  }
  check_version(reader.get<std::uint16_t>(), socket.peer());
  socket.receive_exactly(std::span(answer).template subspan<kVersionBytes>(), deadline);
  return answer;
}

std::string_view name_of(Role role) noexcept {
  switch (role) {
    case Role::kStore:
      return "the store";
    case Role::kControl:
      return "the control plane";
    case Role::kCollective:
      return "a process group";
    case Role::kAgent:
      return "the meeting point of launchers";
  }
  return "an unknown service";
}

[[noreturn]] void fail_token(const std::string& peer, const char* what) {
  throw Error(
      concat(peer, what, "; LOCKSTEP_TOKEN or the content of LOCKSTEP_TOKEN_FILE must be the same on all ranks"));
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
  throw Error(concat(peer, " gave a verdict that this program does not know"));
}

}  // namespace

// The client's end of one handshake on a fresh connection.
void authenticate(StreamSocket& socket, const std::string& token, const Identity& identity, const Deadline& deadline) {
  HandshakeTerms terms{.client = identity, .wanted = wanted_protection(socket), .client_nonce = make_nonce()};
  socket.send_all(encode_hello(terms), deadline);

  const auto challenge = receive_answer<kChallengeBytes>(socket, deadline);
  ByteReader reader(std::span<const std::byte>(challenge).subspan(kVersionBytes));
  const auto agreed = reader.get<std::uint8_t>();
  // The stronger of both ends' requests: a listener of the job never answers with less.
  if (agreed < static_cast<int>(terms.wanted) || agreed > static_cast<int>(FrameProtection::kMac)) {
    throw FormatError(concat(socket.peer(), " answers with another protection of frames than was asked for"));
  }
  terms.agreed = static_cast<FrameProtection>(agreed);
  std::ranges::copy(std::span(challenge).last(kNonceBytes), terms.server_nonce.begin());
  socket.send_all(prove_client(token, terms), deadline);

  const auto answer = receive_answer<kVerdictBytes>(socket, deadline);
  reader = ByteReader(std::span<const std::byte>(answer).subspan(kVersionBytes));
  const auto verdict = static_cast<HandshakeVerdict>(reader.get<std::uint16_t>());
  if (verdict == HandshakeVerdict::kWrongToken) fail_token(socket.peer(), " refused this rank's job token");
  const auto generation = reader.get<std::uint32_t>();
  if (!is_equal(reader.rest(), prove_server(token, terms, verdict, generation))) {
    fail_token(socket.peer(), " did not prove this job's token");
  }
  if (verdict != HandshakeVerdict::kAccepted) refuse(verdict, generation, identity, socket.peer());
  socket.set_frame_mac(make_frame_mac(token, terms, Side::kClient));
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
      // An overloaded listener drops clients in the middle of the handshake; honest ranks retry.
      if (deadline.remaining() < 50ms) {
        throw IoError(concat(error.what(), "; it closed the connection before the handshake was over, at every ",
                             "attempt (is it another version of Lockstep, or busy with strangers?)"));
      }
      if (connect_by.has_expired()) throw TimeoutError(error.what());
      std::this_thread::sleep_for(20ms);
    } catch (const TimeoutError& error) {
      throw TimeoutError(concat(error.what(), "; connected, but the handshake was not answered (is another program ",
                                "listening there?)"));
    }
  }
}

}  // namespace lockstep::net
