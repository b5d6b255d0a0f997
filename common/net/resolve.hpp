#pragma once
// Shared by socket and listener; not for others.
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

/// getaddrinfo(3), or what a test puts in its place.
using Lookup = int (*)(const char* host, const char* port, const addrinfo* hints, addrinfo** found);

/// The socket addresses of a host and port; at least one. getaddrinfo() knows no limit, so for a name it runs on a
/// thread of its own, which is left behind where it does not come back.
/// @throws IoError  Unknown host. @throws TimeoutError  No answer by `deadline`.
[[nodiscard]] AddressList resolve(const SocketAddress& address, const Deadline& deadline,
                                  Lookup lookup = ::getaddrinfo);

/// Connects to the first of `candidates` that answers, in rounds until `deadline`.
/// @param name  For messages. @throws TimeoutError  As StreamSocket::connect().
[[nodiscard]] UniqueFd connect_to_any(const addrinfo& candidates, const std::string& name, const Deadline& deadline);

/// Host and port of a raw socket address.
[[nodiscard]] SocketAddress to_address(const sockaddr_storage& raw, socklen_t raw_bytes);

/// Both ends of a connection.
struct Ends {
  SocketAddress local, remote;
};

/// Nothing where the connection is gone already.
[[nodiscard]] std::optional<Ends> ends_of(int fd);

}  // namespace lockstep::net
