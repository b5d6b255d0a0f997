#pragma once
// Shared by socket, listener and interfaces. Internal to this module.
#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>

#include "base/deadline.hpp"
#include "base/unique_fd.hpp"
#include "net/address.hpp"

namespace lockstep::net {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// getaddrinfo(3), or a test's replacement.
using Lookup = int (*)(const char* host, const char* port, const addrinfo* hints, addrinfo** found);

/// The socket addresses of a host and port; at least one. getaddrinfo() has no time limit, so for a name it runs on a
/// separate thread, which goes on alone if it does not return; the next call for that host and port gets its answer.
/// @throws IoError  Unknown host. @throws TimeoutError  No answer by `deadline`.
[[nodiscard]] AddressList resolve(const SocketAddress& address, const Deadline& deadline,
                                  Lookup lookup = ::getaddrinfo);

/// Like resolve(), but retries an unknown name until `deadline`: a cluster may publish a host's name only after the
/// host runs. Logs waits of more than a few seconds.
/// @throws TimeoutError  Still unknown, or no answer.
[[nodiscard]] AddressList resolve_until_known(const SocketAddress& address, const Deadline& deadline,
                                              Lookup lookup = ::getaddrinfo);

/// Connects to the first of `candidates` that answers. Attempts overlap: one begins every 250 ms, or as soon as the one
/// before has failed, so an address that does not answer delays no other. An address that refuses is retried until
/// `deadline`, after growing pauses with random variation.
/// @param name  For messages. @throws TimeoutError  See StreamSocket::connect().
/// @throws IoError  All addresses belong to this machine, and its loopback interface is down.
/// @source RFC 8305, sections 4 (families take turns) and 5 (attempts overlap).
[[nodiscard]] UniqueFd connect_to_any(const addrinfo& candidates, const std::string& name, const Deadline& deadline);

/// Host and port of a raw socket address. An IPv4-mapped IPv6 address (::ffff:10.0.0.1) is written as IPv4.
[[nodiscard]] SocketAddress to_address(const sockaddr_storage& raw, socklen_t raw_bytes);

/// The same for an element of a list.
[[nodiscard]] SocketAddress to_address(const addrinfo& one);

/// Both ends of a connection.
struct Ends {
  SocketAddress local, remote;
};

/// Nothing if the connection is already gone.
[[nodiscard]] std::optional<Ends> ends_of(int fd);

}  // namespace lockstep::net
