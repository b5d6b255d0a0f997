#pragma once
/// @file
/// Both ends prove that they have the job's token before anything else is read: HMAC-SHA256 over both ends' random
/// numbers and the client's claimed identity. The client proves first. The listener's answers to a stranger do not
/// depend on the token, so merely connecting yields nothing to test guesses against. docs/wire_format.md has the bytes.
/// @source RFC 2104 (HMAC), RFC 5869 (HKDF). The directions' labels differ, so neither proof can be sent back.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/deadline.hpp"
#include "net/stream_socket.hpp"

namespace lockstep::net {

/// A listener's purpose. Values appear on the wire; never renumber.
enum class Role : std::uint16_t { kStore = 1, kControl = 2, kCollective = 3, kAgent = 4 };

/// A connecting rank's claimed identity, covered by its proof.
struct Identity {
  Role role = Role::kStore;
  std::uint32_t generation = 0;  ///< Restart count of the job.
  std::int32_t rank = -1;        ///< Of the client; -1: not a rank.
  std::uint64_t tag = 0;         ///< Chosen by the user, for example to identify a process group.
};

/// Protection of a connection's frames. Values appear on the wire; never renumber.
enum class FrameProtection : std::uint8_t {
  kChecksum = 0,  ///< Against accidents. For connections within a host, which nobody else can touch.
  kMac = 1,       ///< Against attackers: FrameMac with keys derived from the token and both random numbers.
};

/// The protection that this end requests; the connection gets the stronger of both ends' requests. It is kMac if the
/// other end is on another host, unless LOCKSTEP_FRAME_MAC overrides it: 1 for every connection, 0 for none (on a
/// private network).
/// @throws FormatError  LOCKSTEP_FRAME_MAC has another value.
[[nodiscard]] FrameProtection wanted_protection(const StreamSocket& socket);

constexpr std::size_t kNonceBytes = 32;      ///< A random number.
constexpr std::size_t kProofBytes = 32;      ///< An HMAC-SHA256.
constexpr std::size_t kHelloBytes = 56;      ///< The client's first message.
constexpr std::size_t kChallengeBytes = 40;  ///< The listener's answer.
constexpr std::size_t kVerdictBytes = 44;    ///< The listener's final message.
/// A random number, used once.
using Nonce = std::array<std::byte, kNonceBytes>;
/// An HMAC-SHA256.
using Proof = std::array<std::byte, kProofBytes>;

/// How a listener answers a proof. Values appear on the wire; never renumber.
enum class HandshakeVerdict : std::uint16_t { kAccepted = 0, kWrongToken = 1, kWrongGeneration = 2, kWrongRole = 3 };

/// Connects to a GuardedListener and proves the token, retrying while nobody listens or the listener is overloaded.
/// @param peer_name  The listener's name for messages; its address is added: "rank 0" -> "rank 0 (127.0.0.1:4242)".
/// @param deadline  For the whole call.
/// @param connect_by  When to give up if nobody listens, for callers that do other work and retry. A handshake that has
///         begun continues until `deadline`: the listener might consider it complete.
/// @throws TimeoutError  Nobody listens until `connect_by`, or the listener does not answer until `deadline`.
/// @throws FormatError  Another program answers (shows its bytes), or another version.
/// @throws IoError       The listener closes the connection at every attempt.
/// @throws Error  The token, the generation or the role differs from the listener's; says which.
[[nodiscard]] StreamSocket connect_authenticated(const SocketAddress& address, const std::string& token,
                                                 const Identity& identity, const std::string& peer_name,
                                                 const Deadline& deadline,
                                                 const Deadline& connect_by = Deadline::never());

/// The messages of both ends before their proofs, which cover all of them.
struct HandshakeTerms {
  Identity client;
  FrameProtection wanted = FrameProtection::kChecksum;  ///< The client's request.
  FrameProtection agreed = FrameProtection::kChecksum;  ///< The listener's answer: the stronger of both ends' requests.
  Nonce client_nonce{};                                 ///< From the hello.
  Nonce server_nonce{};                                 ///< From the challenge.
};

/// Proves the token over an open connection, and makes the listener prove it too. Afterwards the socket has the agreed
/// FrameMac, if any.
/// @throws TimeoutError, FormatError, Error  See connect_authenticated().
/// @throws IoError  The listener dropped this rank.
void authenticate(StreamSocket& socket, const std::string& token, const Identity& identity, const Deadline& deadline);

/// The listener's end of one handshake; call advance() when bytes arrive. Never blocks.
class HandshakeServer {
 public:
  /// @param token     Must outlive this object.
  /// @param expected  Accepted role and generation.
  HandshakeServer(StreamSocket socket, const std::string& token, const Identity& expected, const Deadline& deadline);

  /// For poll.
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
  /// The client must have proved the token by then.
  [[nodiscard]] const Deadline& deadline() const noexcept { return deadline_; }
  /// True if the client has sent its hello and received a challenge. A rank's first packet usually has its hello.
  [[nodiscard]] bool has_begun() const noexcept { return is_challenged_; }
  /// The client's address, for messages.
  [[nodiscard]] const std::string& peer() const noexcept { return socket_.peer(); }

  /// Reads available bytes. @return  The client's identity when it has proved the token; nothing before.
  /// @throws FormatError  The bytes are not a handshake.
  /// @throws Error  The proof, role or generation is wrong; the client has been told.
  /// @throws IoError  The client left.
  [[nodiscard]] std::optional<Identity> advance();
  /// The connection, after the identity is proved.
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
