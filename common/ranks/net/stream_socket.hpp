#pragma once
/// @file
/// One TCP connection whose every wait is bounded.
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
/// stays where it is. Errors name the peer and the amounts: "rank 1 (127.0.0.1:4242) closed the connection (12288 of
/// 40000 bytes received)".
class StreamSocket {
 public:
  StreamSocket() noexcept = default;

  /// Takes over a connected descriptor; makes it non-blocking and, where it is TCP, sets TCP_NODELAY, SO_KEEPALIVE (a
  /// host that vanishes while nothing is sent ends the connection after two minutes) and, where both ends are on this
  /// host, a congestion control that does not pace.
  /// @param peer  How messages name the other end.
  StreamSocket(UniqueFd fd, std::string peer);

  /// Connects, and tries again while the name is unknown or nobody listens there yet; pauses grow and vary by chance.
  /// A name may have several addresses: they are tried side by side (RFC 8305), so that one that does not answer delays
  /// no other. The name is looked up again now and then.
  /// @throws TimeoutError  Not connected by `deadline`; says what the last attempt at each address failed with, or that
  ///                       the host name is unknown, or that no name server has answered.
  [[nodiscard]] static StreamSocket connect(const SocketAddress& address, const Deadline& deadline);

  /// How long what was sent may stay without the other end's acknowledgement, or the other end may take nothing,
  /// before the connection breaks (TCP_USER_TIMEOUT; else the kernel tries for about a quarter of an hour). For
  /// connections whose other end always reads, or with a limit on how long it may not.
  void set_user_timeout(std::chrono::milliseconds limit) noexcept;

  /// Whether there is a connection.
  [[nodiscard]] bool is_open() const noexcept { return fd_.is_open(); }
  /// For poll(2) only.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// How messages name the other end.
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
  /// @param peer  How messages name the other end.
  void set_peer(std::string peer) { peer_ = std::move(peer); }
  /// This end's address: what peers of the same network reach this host by.
  [[nodiscard]] SocketAddress local_address() const;
  /// The other end's address as this host sees it; nothing where the connection is gone already.
  [[nodiscard]] std::optional<SocketAddress> remote_address() const;
  /// Whether both ends are on this host, so that nobody else can touch what travels between them.
  [[nodiscard]] bool is_within_host() const noexcept { return is_within_host_; }

  /// What the handshake agreed on for the frames of this connection; null: checksums.
  [[nodiscard]] FrameMac* frame_mac() const noexcept { return frame_mac_.get(); }
  /// For the two ends of the handshake.
  void set_frame_mac(std::unique_ptr<FrameMac> mac) noexcept { frame_mac_ = std::move(mac); }

  /// Sends every byte of every part in order, with as few system calls as the kernel allows.
  /// @throws IoError       The connection broke, or shutdown() was called.
  /// @throws TimeoutError  Not all were taken by `deadline`.
  void send_all(std::span<const std::byte> bytes, const Deadline& deadline) { send_all(bytes, {}, deadline); }
  /// As above for two pieces with one system call where the kernel takes both.
  void send_all(std::span<const std::byte> header, std::span<const std::byte> payload, const Deadline& deadline);

  /// Fills `bytes`.
  /// @throws IoError       The peer closed or the connection broke.
  /// @throws TimeoutError  Not all arrived by `deadline`.
  void receive_exactly(std::span<std::byte> bytes, const Deadline& deadline);

  /// Sends what fits now and returns how many bytes that was (0: the kernel's buffer is full). @throws IoError
  [[nodiscard]] std::size_t send_some(std::span<const std::byte> header, std::span<const std::byte> payload = {});
  /// Receives what is there and returns how many bytes that was (0: nothing yet). @throws IoError  Also: peer closed.
  [[nodiscard]] std::size_t receive_some(std::span<std::byte> bytes) { return receive_some(bytes, {}); }
  /// As above into two pieces, the first first.
  [[nodiscard]] std::size_t receive_some(std::span<std::byte> header, std::span<std::byte> payload);

  /// Waits until the socket can be read or written. @return  False where the deadline passed first.
  [[nodiscard]] bool wait_readable(const Deadline& deadline) const;
  /// @return  Whether bytes can be sent; false at the deadline.
  [[nodiscard]] bool wait_writable(const Deadline& deadline) const;

  /// Ends both directions: whoever waits in this socket, here or at the peer, fails soon. From any thread.
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
