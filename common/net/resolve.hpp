#pragma once
// Shared by socket and listener; not for others.
#include <netdb.h>
#include <sys/socket.h>

#include <memory>

#include "base/error.hpp"
#include "net/address.hpp"

namespace lockstep::net {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// The socket addresses of a host and port. @throws IoError  Unknown host.
[[nodiscard]] AddressList resolve(const SocketAddress& address);

/// Host and port of a raw socket address.
[[nodiscard]] SocketAddress to_address(const sockaddr_storage& raw, socklen_t raw_bytes);

}  // namespace lockstep::net
