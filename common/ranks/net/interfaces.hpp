#pragma once
/// @file
/// The addresses that this host has, and which of them a listener takes.
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
  std::string address;    ///< "192.0.2.2", "fd00::2" or, where it means something only there, "fe80::1%eth0".

  bool operator==(const InterfaceAddress&) const = default;
};

/// All of this host's interfaces that are up, in the order of the kernel: IPv4 first, link-local IPv6 last.
/// @throws IoError  The kernel does not tell.
[[nodiscard]] std::vector<InterfaceAddress> interface_addresses();

/// "lo 127.0.0.1, ::1; eth0 192.0.2.2", for messages.
[[nodiscard]] std::string describe(const std::vector<InterfaceAddress>& addresses);

/// Whether packets for `host`, a number, end on this host.
[[nodiscard]] bool is_own_address(std::string_view host,
                                  const std::vector<InterfaceAddress>& addresses = interface_addresses());

/// The address of the interface that `wanted` names, in the forms of NCCL_SOCKET_IFNAME: "eth0" is the interface of
/// that name, else the first whose name begins so; "=eth0" only the one of that name; "eth,ib" the first that one of
/// them names; "^docker,lo" the first that none of them names, loopback excluded.
/// @param family_of  An address of the family to prefer where the interface has both; empty: the first.
/// @throws FormatError  There is none; lists the interfaces that there are.
[[nodiscard]] std::string address_of_interface(const std::string& wanted, std::string_view family_of = "",
                                               const std::vector<InterfaceAddress>& addresses = interface_addresses());

/// The address that the user wants listeners to bind: LOCKSTEP_BIND_ADDRESS, else that of LOCKSTEP_INTERFACE as
/// address_of_interface(); nothing where neither is set, or where the address is that of all interfaces (0.0.0.0, ::)
/// or a name that is loopback here although it is not "localhost".
/// @param family_of  As address_of_interface().
/// @throws FormatError  No such interface, or the address is not this host's; lists the interfaces.
[[nodiscard]] std::optional<std::string> given_bind_address(
    std::string_view family_of = "",
    const std::function<std::optional<std::string>(const std::string& name)>& lookup = environment::get);

/// Where this host listens so that all who know it as `known_as` reach it.
///
/// A number and "localhost" are that address. A name is the address it has here, where that is one of this host and not
/// loopback. Otherwise others may know the name by another address (Debian's /etc/hosts gives the host's own name
/// 127.0.1.1), so the answer is the address of all interfaces, "::" (IPv4 included) or "0.0.0.0".
/// @param deadline  For a name to become known.
/// @throws FormatError   None of the name's addresses is this host's; lists the interfaces.
/// @throws TimeoutError  The name is unknown.
[[nodiscard]] SocketAddress listening_address(const SocketAddress& known_as, const Deadline& deadline);

}  // namespace lockstep::net
