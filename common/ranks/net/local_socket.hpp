#pragma once
/// @file
/// Sockets between processes of one host, which can send open file descriptors, unlike TCP. They leave no files behind.
#include <string>

#include "base/deadline.hpp"
#include "base/unique_fd.hpp"
#include "net/stream_socket.hpp"
#include "net/tcp_listener.hpp"

namespace lockstep::net {

/// Listens on an abstract AF_UNIX address of the kernel's choice. Clients are strangers, as with TCP: pass the listener
/// to a GuardedListener.
/// @return  Its address().host is the argument of connect_local(): "@0001f". @throws IoError
[[nodiscard]] TcpListener listen_local();

/// Connects to listen_local()'s address; call authenticate() next.
/// @throws IoError       Nobody listens under that name in this network namespace: another host, or a container with a
///                       network of its own.
/// @throws TimeoutError  The listener's queue stays full until `deadline`. @throws FormatError  No such address.
[[nodiscard]] StreamSocket connect_local(const std::string& address, const Deadline& deadline);

/// Sends a duplicate of `fd` through a connection between processes of one host.
/// @throws IoError, TimeoutError
void send_descriptor(StreamSocket& socket, int fd, const Deadline& deadline);

/// Receives a descriptor from send_descriptor(); it is closed on exec.
/// @throws IoError, TimeoutError  @throws FormatError  Something else arrived.
[[nodiscard]] UniqueFd receive_descriptor(StreamSocket& socket, const Deadline& deadline);

}  // namespace lockstep::net
