#pragma once
/// @file
/// A listening TCP port.
#include <optional>
#include <utility>

#include "base/deadline.hpp"
#include "base/unique_fd.hpp"
#include "net/address.hpp"
#include "net/stream_socket.hpp"

namespace lockstep::net {

/// Length of the accept queue, capped by the system (/proc/sys/net/core/somaxconn, usually 4096). All ranks of a job
/// connect at once, and a burst of strangers must not fill the queue. The kernel drops connections if it is full, and a
/// dropped client retries only after a second.
inline constexpr int kBacklog = 16 * 1024;

/// Listens from construction on, so that the port is bound before its number is published. Move-only. Clients are
/// strangers: GuardedListener accepts only those that prove the job's token.
class TcpListener {
 public:
  /// Binds and listens.
  /// @param address  By default loopback and a free port.
  /// @throws IoError  The port is in use, or the host is not this machine's; names both.
  explicit TcpListener(const SocketAddress& address = {});

  /// Takes ownership of a descriptor that already listens, for example listen_local()'s.
  /// @param name  Its name for address() and messages.
  TcpListener(UniqueFd fd, SocketAddress name) noexcept : fd_(std::move(fd)), address_(std::move(name)) {}

  /// The bound address, with the port chosen by the kernel.
  [[nodiscard]] const SocketAddress& address() const noexcept { return address_; }
  /// For poll(2) only.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// Waits for the next connection. @throws TimeoutError  None by `deadline`.
  [[nodiscard]] StreamSocket accept(const Deadline& deadline);

  /// The next waiting connection; nothing if there is none. Skips connections that broke in the queue.
  /// @throws IoError  Out of descriptors or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM), or the listener is broken.
  [[nodiscard]] std::optional<StreamSocket> try_accept();

 private:
  UniqueFd fd_;
  SocketAddress address_;
};

}  // namespace lockstep::net
