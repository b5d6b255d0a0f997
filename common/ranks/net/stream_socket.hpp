#pragma once
/// @file
/// A TCP connection on which every wait is bounded.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/deadline.hpp"
#include "base/unique_fd.hpp"
#include "net/address.hpp"
#include "net/frame_mac.hpp"

namespace lockstep::net {

/// A connected stream of bytes. The descriptor is non-blocking; calls that take a Deadline wait with poll(2).
///
/// Move-only. Thread safety: one thread sends and one receives at a time; shutdown() from any thread while the object
/// is not moved. Errors name the peer and the amounts: "rank 1 (127.0.0.1:4242) closed the connection (12288 of 40000
/// bytes received)".
class StreamSocket {
 public:
  StreamSocket() noexcept = default;

  /// Takes ownership of a connected descriptor and makes it non-blocking. On TCP it also sets TCP_NODELAY and
  /// SO_KEEPALIVE (if a host vanishes while nothing is sent, the connection ends after two minutes) and, if both ends
  /// are on this host, a congestion control without pacing.
  /// @param peer  The other end's name in messages.
  StreamSocket(UniqueFd fd, std::string peer);

  /// Connects, retrying while the name is unknown or nobody listens there; pauses grow and vary at random. If a name
  /// has several addresses, attempts overlap (RFC 8305), so that an address that does not answer delays no other. The
  /// name is looked up again at intervals.
  /// @throws TimeoutError  Not connected by `deadline`; reports the last error for each address, or that the host name
  ///         is unknown, or that no name server has answered.
  [[nodiscard]] static StreamSocket connect(const SocketAddress& address, const Deadline& deadline);

  /// Limit on data that the other end does not acknowledge or accept (TCP_USER_TIMEOUT) before the connection breaks;
  /// the kernel's default is about a quarter of an hour. For connections whose other end always reads, or with a limit
  /// on how long it may not.
  void set_user_timeout(std::chrono::milliseconds limit) noexcept;

  [[nodiscard]] bool is_open() const noexcept { return fd_.is_open(); }
  /// For poll(2) only.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// The other end's name in messages.
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
  /// @param peer  The other end's name in messages.
  void set_peer(std::string peer) { peer_ = std::move(peer); }
  /// This end's address, at which peers on the same network reach this host.
  [[nodiscard]] SocketAddress local_address() const;
  /// The other end's address as this host sees it; nothing if the connection is already gone.
  [[nodiscard]] std::optional<SocketAddress> remote_address() const;
  /// True if both ends are on this host, so that nobody else can touch the data between them.
  [[nodiscard]] bool is_within_host() const noexcept { return is_within_host_; }

  /// The MAC that the handshake agreed on for this connection's frames; null: checksums.
  [[nodiscard]] FrameMac* frame_mac() const noexcept { return frame_mac_.get(); }
  /// For the two ends of the handshake.
  void set_frame_mac(std::unique_ptr<FrameMac> mac) noexcept { frame_mac_ = std::move(mac); }

  /// Sends all bytes, with as few system calls as the kernel allows.
  /// @throws IoError       The connection broke, or shutdown() was called.
  /// @throws TimeoutError  Not all bytes were sent by `deadline`.
  void send_all(std::span<const std::byte> bytes, const Deadline& deadline) { send_all(bytes, {}, deadline); }
  /// Sends two pieces, with one system call if the kernel accepts both.
  void send_all(std::span<const std::byte> header, std::span<const std::byte> payload, const Deadline& deadline);

  /// Fills `bytes`.
  /// @throws IoError       The peer closed or the connection broke.
  /// @throws TimeoutError  Not all arrived by `deadline`.
  void receive_exactly(std::span<std::byte> bytes, const Deadline& deadline);

  /// Sends as much as fits now and returns the number of bytes (0: the kernel's buffer is full). @throws IoError
  [[nodiscard]] std::size_t send_some(std::span<const std::byte> header, std::span<const std::byte> payload = {});
  /// Receives available bytes and returns their number (0: none yet). @throws IoError  Also if the peer has closed.
  [[nodiscard]] std::size_t receive_some(std::span<std::byte> bytes) { return receive_some(bytes, {}); }
  /// The same into two pieces, `header` first.
  [[nodiscard]] std::size_t receive_some(std::span<std::byte> header, std::span<std::byte> payload);

  /// Waits until the socket is readable. @return  False if the deadline passed first.
  [[nodiscard]] bool wait_readable(const Deadline& deadline) const;
  /// Waits until the socket is writable. @return  False if the deadline passed first.
  [[nodiscard]] bool wait_writable(const Deadline& deadline) const;

  /// Ends both directions: threads waiting on this socket, here or at the peer, fail soon. From any thread.
  void shutdown() noexcept;
  /// Closes the connection; idempotent.
  void close() noexcept { fd_.reset(); }

 private:
  UniqueFd fd_;
  std::string peer_ = "(not connected)";
  std::unique_ptr<FrameMac> frame_mac_;
  bool is_within_host_ = false;
};

}  // namespace lockstep::net
