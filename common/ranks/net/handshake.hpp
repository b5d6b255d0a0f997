#pragma once
/// @file
/// Both ends prove that they know the job's token before anything else is read: HMAC-SHA256 over both ends' random
/// numbers and over who the client says it is. The client proves first: what a listener says to a stranger does not
/// depend on the token, so nobody who merely connects gets anything to try guesses against. docs/wire_format.md has
/// the bytes.
/// @source RFC 2104 (HMAC), RFC 5869 (HKDF); the two directions use different labels, so neither end's proof can be
///         sent back to it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/deadline.hpp"
#include "net/stream_socket.hpp"

namespace lockstep::net {

/// What a listener is for. Values appear on the wire; never renumber.
enum class Role : std::uint16_t { kStore = 1, kControl = 2, kCollective = 3, kAgent = 4 };

/// Who a connecting rank says it is; covered by its proof.
struct Identity {
  Role role = Role::kStore;      ///< What the connection is for.
  std::uint32_t generation = 0;  ///< Restart count of the job.
  std::int32_t rank = -1;        ///< Of the one who connects; -1: no rank.
  std::uint64_t tag = 0;         ///< The user's choice, for example which process group.
};

/// What keeps the frames of a connection from being changed on the way. Values appear on the wire; never renumber.
enum class FrameProtection : std::uint8_t {
  kChecksum = 0,  ///< Against accidents. Within a host, where nobody else can touch them.
  kMac = 1,       ///< Against people: FrameMac with keys derived from the token and both random numbers.
};

/// What this end of a connection asks for; the connection gets the stronger of both ends' wishes. It is kMac where the
/// other end is on another host, unless LOCKSTEP_FRAME_MAC says otherwise: 1 for every connection, 0 for none (on a
/// network that nobody else can reach).
/// @throws FormatError  LOCKSTEP_FRAME_MAC is neither.
[[nodiscard]] FrameProtection wanted_protection(const StreamSocket& socket);

constexpr std::size_t kNonceBytes = 32;      ///< A random number.
constexpr std::size_t kProofBytes = 32;      ///< An HMAC-SHA256.
constexpr std::size_t kHelloBytes = 56;      ///< The client's first message.
constexpr std::size_t kChallengeBytes = 40;  ///< The listener's answer.
constexpr std::size_t kVerdictBytes = 44;    ///< The listener's last word.
/// A random number, used once.
using Nonce = std::array<std::byte, kNonceBytes>;
/// An HMAC-SHA256.
using Proof = std::array<std::byte, kProofBytes>;

/// How a listener answers a proof. Values appear on the wire; never renumber.
enum class HandshakeVerdict : std::uint16_t { kAccepted = 0, kWrongToken = 1, kWrongGeneration = 2, kWrongRole = 3 };

/// Connects to a GuardedListener and proves the token, trying again while nobody listens or the listener is swamped.
/// @param peer_name   How messages name the listener; its address is added: "rank 0" -> "rank 0 (127.0.0.1:4242)".
/// @param deadline    For all of it.
/// @param connect_by  When to give up if nobody listens: for callers that look after other things and come again. A
///                    handshake that has begun is not given up before `deadline`: the listener might believe it done.
/// @throws TimeoutError  Nobody listens until `connect_by`, or the listener does not answer until `deadline`.
/// @throws FormatError   Something else answers (shows what), or another version.
/// @throws IoError       The listener closes the connection at every attempt.
/// @throws Error         The token, the generation or the role is not the listener's; says which.
[[nodiscard]] StreamSocket connect_authenticated(const SocketAddress& address, const std::string& token,
                                                 const Identity& identity, const std::string& peer_name,
                                                 const Deadline& deadline,
                                                 const Deadline& connect_by = Deadline::never());

/// What both ends have said before their proofs, all of which the proofs cover.
struct HandshakeTerms {
  Identity client;                                      ///< Who connects.
  FrameProtection wanted = FrameProtection::kChecksum;  ///< By the client.
  FrameProtection agreed = FrameProtection::kChecksum;  ///< By the listener: the stronger of both ends' wishes.
  Nonce client_nonce{};                                 ///< In the hello.
  Nonce server_nonce{};                                 ///< In the challenge.
};

/// Proves the token over a connection that is open already, and makes the listener prove it too. Afterwards the socket
/// has the FrameMac that was agreed on, if any.
/// @throws TimeoutError, FormatError, Error  As connect_authenticated(). @throws IoError  The listener dropped this
/// rank.
void authenticate(StreamSocket& socket, const std::string& token, const Identity& identity, const Deadline& deadline);

/// The listener's end for one connection, advanced whenever bytes arrive; never waits.
class HandshakeServer {
 public:
  /// @param token     Must outlive this object.
  /// @param expected  Role and generation that are let in.
  HandshakeServer(StreamSocket socket, const std::string& token, const Identity& expected, const Deadline& deadline);

  /// For poll.
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
  /// By which the client must have proved the token.
  [[nodiscard]] const Deadline& deadline() const noexcept { return deadline_; }
  /// Whether the client has said hello and got a challenge: a rank that has not proved the token yet has done so at
  /// least, as a rule with its first packet.
  [[nodiscard]] bool has_begun() const noexcept { return is_challenged_; }
  /// The client's address, for messages.
  [[nodiscard]] const std::string& peer() const noexcept { return socket_.peer(); }

  /// Reads what has arrived. @return  The client's identity once it has proved the token; nothing before.
  /// @throws FormatError  What arrived is no handshake.
  /// @throws Error        The proof is wrong, or role or generation are; the client has been told.
  /// @throws IoError      The client left.
  [[nodiscard]] std::optional<Identity> advance();
  /// The connection, once identity is proved.
  [[nodiscard]] StreamSocket take_socket() noexcept { return std::move(socket_); }

 private:
  void answer_hello();
  [[nodiscard]] HandshakeVerdict judge_proof() const;
  void send_verdict(HandshakeVerdict verdict);
  void send_whole(std::span<const std::byte> bytes);

  StreamSocket socket_;
  const std::string* token_;
  Identity expected_;
  Deadline deadline_;
  HandshakeTerms terms_;
  std::array<std::byte, kHelloBytes> received_{};
  std::size_t received_bytes_ = 0;
  bool is_challenged_ = false;
};

}  // namespace lockstep::net
