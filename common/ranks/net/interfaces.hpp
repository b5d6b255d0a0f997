#pragma once
/// @file
/// The addresses of this host, and the choice of one for listening.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"
#include "base/environment.hpp"
#include "net/address.hpp"

namespace lockstep::net {

/// One address of one network interface. A value type.
struct InterfaceAddress {
  std::string interface;  ///< "eth0".
  std::string address;    ///< "192.0.2.2", "fd00::2" or, if it is valid only on that interface, "fe80::1%eth0".

  bool operator==(const InterfaceAddress&) const = default;
};

/// All of this host's interfaces that are up, in the kernel's order: IPv4 first, link-local IPv6 last.
/// @throws IoError  The kernel refuses.
[[nodiscard]] std::vector<InterfaceAddress> interface_addresses();

/// "lo 127.0.0.1, ::1; eth0 192.0.2.2", for messages.
[[nodiscard]] std::string describe(const std::vector<InterfaceAddress>& addresses);

/// True if packets to `host`, a numeric address, stay on this host.
[[nodiscard]] bool is_own_address(std::string_view host,
                                  const std::vector<InterfaceAddress>& addresses = interface_addresses());

/// The address of the interface that `wanted` names, in the forms of NCCL_SOCKET_IFNAME: "eth0" is the interface of
/// that name, otherwise the first whose name has that prefix; "=eth0" only the exact name; "eth,ib" the first that
/// matches one of them; "^docker,lo" the first that matches none of them, loopback excluded.
/// @param family_of  An address of the preferred family if the interface has both; empty: the first.
/// @throws FormatError  No such interface; lists the existing ones.
[[nodiscard]] std::string address_of_interface(const std::string& wanted, std::string_view family_of = "",
                                               const std::vector<InterfaceAddress>& addresses = interface_addresses());

/// The address that the user wants listeners to bind: LOCKSTEP_BIND_ADDRESS, otherwise that of LOCKSTEP_INTERFACE (see
/// address_of_interface()). Nothing if neither is set, or if the address is that of all interfaces (0.0.0.0, ::), or a
/// name other than "localhost" that is loopback here.
/// @param family_of  See address_of_interface().
/// @throws FormatError  No such interface, or the address is not this host's; lists the interfaces.
[[nodiscard]] std::optional<std::string> given_bind_address(
    std::string_view family_of = "",
    const std::function<std::optional<std::string>(const std::string& name)>& lookup = environment::get);

/// The address on which this host listens so that all peers that have it as `known_as` can reach it.
///
/// A numeric address or "localhost" is that address. A name is the address that it has here, if that is one of this
/// host's and not loopback. Otherwise others may resolve the name to another address (Debian's /etc/hosts gives the
/// host's own name 127.0.1.1), so the result is the address of all interfaces, "::" (IPv4 included) or "0.0.0.0".
/// @param deadline  For the name to become known.
/// @throws FormatError   None of the name's addresses is this host's; lists the interfaces.
/// @throws TimeoutError  The name is unknown.
[[nodiscard]] SocketAddress listening_address(const SocketAddress& known_as, const Deadline& deadline);

}  // namespace lockstep::net
