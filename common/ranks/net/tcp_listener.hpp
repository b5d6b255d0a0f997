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

/// Connections that a listener lets wait, as far as the system allows (/proc/sys/net/core/somaxconn, 4096 as a rule).
/// All ranks of a job come at once, and a burst of strangers must not fill the queue that they wait in. The kernel
/// drops who finds it full, and who is dropped tries again only after a second.
inline constexpr int kBacklog = 16 * 1024;

/// Listens from construction on, so that the port is taken before anybody is told about it. Move-only.
/// Whoever connects is a stranger: GuardedListener lets in only those who prove the job's token.
class TcpListener {
 public:
  /// Binds and listens.
  /// @param address  Loopback and a free port unless told otherwise.
  /// @throws IoError  The port is taken or the host is not this machine's; names both.
  explicit TcpListener(const SocketAddress& address = {});

  /// Takes over a descriptor that listens already, for example listen_local()'s.
  /// @param name  How address() and messages name it.
  TcpListener(UniqueFd fd, SocketAddress name) noexcept : fd_(std::move(fd)), address_(std::move(name)) {}

  /// The bound address, with the port the kernel chose.
  [[nodiscard]] const SocketAddress& address() const noexcept { return address_; }
  /// For poll(2) only.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// Waits for the next connection. @throws TimeoutError  None by `deadline`.
  [[nodiscard]] StreamSocket accept(const Deadline& deadline);

  /// The next connection where one is waiting; nothing otherwise. Connections that broke in the queue are passed over.
  /// @throws IoError  Out of descriptors or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM), or no listener any more.
  [[nodiscard]] std::optional<StreamSocket> try_accept();

 private:
  UniqueFd fd_;
  SocketAddress address_;
};

}  // namespace lockstep::net
