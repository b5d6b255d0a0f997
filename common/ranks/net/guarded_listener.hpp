#pragma once
/// @file
/// A listener that lets in only those who prove the job's token.
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

/// A connection whose other end has proved the token, and who it is.
struct AcceptedPeer {
  StreamSocket socket;  ///< Ready for frames.
  Identity identity;    ///< As proved.
};

/// Runs the handshakes of all who connect at the same time, so that silent strangers delay nobody. A stranger gets
/// kStrangerLimit, and only kMaxStrangers are kept. Beyond that, who has had his turn is dropped for the next one
/// (honest ranks come again): kSilentTurn without a hello, kTurn with one. Thousands of ranks that come at once so take
/// turns, where a newcomer that displaced the oldest at once would undo what that one and the listener had begun. While
/// nobody can be dropped yet, or the process is out of descriptors or memory, new connections wait in the kernel's
/// queue.
/// Thread safety: one thread.
class GuardedListener {
 public:
  /// Within which a stranger must prove the token.
  static constexpr std::chrono::seconds kStrangerLimit{3};
  /// Unproved connections held at once.
  static constexpr std::size_t kMaxStrangers = 256;
  /// Within which a stranger that has said nothing is not dropped for another: its first bytes may be on their way.
  static constexpr std::chrono::milliseconds kSilentTurn{50};
  /// The same for one that has begun the handshake: its process may have to wait for a processor.
  static constexpr std::chrono::milliseconds kTurn{500};
  /// Taken from the queue by one advance(): those who are let in already are served in between.
  static constexpr std::size_t kMaxAcceptsPerTurn = 16;
  /// How long none are taken after descriptors or memory were lacking.
  static constexpr std::chrono::milliseconds kPause{100};

  /// Binds and listens. @param expected  Role and generation that are let in. @throws IoError  As TcpListener.
  GuardedListener(const SocketAddress& address, std::string token, const Identity& expected);
  /// Guards a listener that exists already, for example listen_local()'s.
  GuardedListener(std::string token, const Identity& expected, TcpListener listener);

  GuardedListener(const GuardedListener&) = delete;  // handshakes refer to token_
  GuardedListener& operator=(const GuardedListener&) = delete;

  /// Where it listens, with the real port.
  [[nodiscard]] const SocketAddress& address() const noexcept { return listener_.address(); }

  /// Waits for the next peer that proves the token.
  /// @throws TimeoutError  None by `deadline`; tells how many strangers were refused and why the last was.
  [[nodiscard]] AcceptedPeer accept(const Deadline& deadline);

  /// For loops of one's own: what to poll, how long at most, and one step once something is ready. Never waits.
  void append_poll_entries(std::vector<pollfd>& entries) const;
  /// When advance() is due even if nothing arrives.
  [[nodiscard]] Deadline next_deadline() const noexcept;
  /// Accepts, reads and judges what has come; a bounded amount of it. @return  Peers that have proved the token.
  [[nodiscard]] std::vector<AcceptedPeer> advance();

  /// Strangers sent away so far.
  [[nodiscard]] std::uint64_t refused_count() const noexcept { return refused_count_; }
  /// Why the last one was; empty: none.
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
  std::vector<AcceptedPeer> ready_;             // accepted and not yet handed out by accept()
  std::uint64_t refused_count_ = 0;
  std::string last_refusal_;
  std::optional<Deadline> pause_;  // no connection is taken before
  std::string pause_reason_;       // empty: the last attempt to take one was fine
};

}  // namespace lockstep::net
