#pragma once
/// @file
/// A listener that accepts only peers that prove the job's token.
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "net/handshake.hpp"
#include "net/tcp_listener.hpp"

namespace lockstep::net {

/// A connection whose other end has proved the token, with its identity.
struct AcceptedPeer {
  StreamSocket socket;  ///< Ready for frames.
  Identity identity;    ///< Proved.
};

/// Runs the handshakes of all connecting strangers concurrently, so that silent ones delay nobody. A stranger has
/// kStrangerLimit to finish, and at most kMaxStrangers are kept. Beyond that, a stranger that has had its turn
/// (kSilentTurn without a hello, kTurn with one) is dropped for the next; honest ranks retry. Thousands of ranks that
/// arrive at once thus take turns. Dropping the oldest stranger for each newcomer would instead discard the work
/// already done for it. If nobody can be dropped yet, or the process is out of descriptors or memory, new connections
/// wait in the kernel's queue.
/// Thread safety: one thread.
class GuardedListener {
 public:
  /// Time for a stranger to prove the token.
  static constexpr std::chrono::seconds kStrangerLimit{3};
  /// Limit on unauthenticated connections.
  static constexpr std::size_t kMaxStrangers = 256;
  /// A silent stranger is not dropped for another before this: its first bytes may be on their way.
  static constexpr std::chrono::milliseconds kSilentTurn{50};
  /// The same after it has begun the handshake: its process may have to wait for a processor.
  static constexpr std::chrono::milliseconds kTurn{500};
  /// Accepted by one advance() at most, so that authenticated peers are served in between.
  static constexpr std::size_t kMaxAcceptsPerTurn = 16;
  /// Pause in accepting after a lack of descriptors or memory.
  static constexpr std::chrono::milliseconds kPause{100};

  /// Binds and listens. @param expected  Accepted role and generation. @throws IoError  See TcpListener.
  GuardedListener(const SocketAddress& address, std::string token, const Identity& expected);
  /// Guards an existing listener, for example listen_local()'s.
  GuardedListener(std::string token, const Identity& expected, TcpListener listener);

  GuardedListener(const GuardedListener&) = delete;  // handshakes refer to token_
  GuardedListener& operator=(const GuardedListener&) = delete;

  /// The bound address, with the actual port.
  [[nodiscard]] const SocketAddress& address() const noexcept { return listener_.address(); }

  /// Waits for the next peer that proves the token.
  /// @throws TimeoutError  None by `deadline`; reports how many strangers were refused, and the last reason.
  [[nodiscard]] AcceptedPeer accept(const Deadline& deadline);

  /// For event loops: what to poll, for how long at most, and one step when something is ready. Never blocks.
  void append_poll_entries(std::vector<pollfd>& entries) const;
  /// When to call advance() even if nothing arrives.
  [[nodiscard]] Deadline next_deadline() const noexcept;
  /// Accepts connections and processes received data, a bounded amount of each. @return  Authenticated peers.
  [[nodiscard]] std::vector<AcceptedPeer> advance();

  /// Strangers refused so far.
  [[nodiscard]] std::uint64_t refused_count() const noexcept { return refused_count_; }
  /// The reason for the last refusal; empty: none.
  [[nodiscard]] const std::string& last_refusal() const noexcept { return last_refusal_; }

 private:
  [[nodiscard]] bool is_full() const noexcept { return unauthenticated_.size() >= kMaxStrangers; }
  [[nodiscard]] static Deadline turn_of(const HandshakeServer& stranger);
  [[nodiscard]] bool make_room();
  void accept_waiting();
  void accept_one(StreamSocket socket);
  void pause(const std::string& reason);
  void refuse(std::list<HandshakeServer>::iterator stranger, const std::string& reason);

  TcpListener listener_;
  std::string token_;
  Identity expected_;
  std::list<HandshakeServer> unauthenticated_;  // oldest first
  std::vector<AcceptedPeer> ready_;             // not yet returned by accept()
  std::uint64_t refused_count_ = 0;
  std::string last_refusal_;
  std::optional<Deadline> pause_;  // no connection is accepted before this
  std::string pause_reason_;       // empty: the last attempt to accept succeeded
};

}  // namespace lockstep::net
