#pragma once
// Shared by socket, listener and interfaces; not for others.
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

/// As resolve(), but a name that is unknown is looked up again until `deadline`: a cluster makes a host's name known
/// only once the host runs. Says so in the log when that takes more than a few seconds.
/// @throws TimeoutError  Still unknown, or no answer.
[[nodiscard]] AddressList resolve_until_known(const SocketAddress& address, const Deadline& deadline,
                                              Lookup lookup = ::getaddrinfo);

/// Connects to the first of `candidates` that answers. Attempts are made side by side: one begins every 250 ms, or as
/// soon as the one before has failed, and an address that does not answer delays no other one. An address that refuses
/// is tried again, after pauses that grow and vary by chance, until `deadline`.
/// @param name  For messages. @throws TimeoutError  As StreamSocket::connect().
/// @throws IoError  All addresses are this machine's own, and its loopback interface is down.
/// @source RFC 8305, sections 4 (families take turns) and 5 (attempts overlap).
[[nodiscard]] UniqueFd connect_to_any(const addrinfo& candidates, const std::string& name, const Deadline& deadline);

/// Host and port of a raw socket address. An IPv4 address in IPv6 clothes (::ffff:10.0.0.1) is written as IPv4.
[[nodiscard]] SocketAddress to_address(const sockaddr_storage& raw, socklen_t raw_bytes);

/// As above, for one of a list.
[[nodiscard]] SocketAddress to_address(const addrinfo& one);

/// Both ends of a connection.
struct Ends {
  SocketAddress local, remote;
};

/// Nothing where the connection is gone already.
[[nodiscard]] std::optional<Ends> ends_of(int fd);

}  // namespace lockstep::net
