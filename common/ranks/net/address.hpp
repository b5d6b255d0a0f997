#pragma once
/// @file
/// Where a listener can be reached.
#include <string>
#include <string_view>

namespace lockstep::net {

/// A host (name or number) and a TCP port. A value type.
struct SocketAddress {
  std::string host = "127.0.0.1";  ///< A name or a number.
  int port = 0;                    ///< 0 for a listener: the kernel chooses a free one.

  bool operator==(const SocketAddress&) const = default;

  /// "127.0.0.1:29500", "[fd00::1]:29500" or "[fe80::1%eth0]:29500": an IPv6 host stands in brackets.
  [[nodiscard]] std::string text() const;

  /// The address that `text` names, as text() writes it.
  /// @throws FormatError  No "host:port", an IPv6 host without brackets, or a port outside [0, 65535].
  [[nodiscard]] static SocketAddress parse(std::string_view text);
};

/// `host` without the brackets of an IPv6 address.
[[nodiscard]] std::string without_brackets(std::string_view host);

/// Whether `host` is an IPv4 or IPv6 address rather than a name.
[[nodiscard]] bool is_number(std::string_view host) noexcept;

/// Whether `host` stands for all addresses of a host: "0.0.0.0", "::". One can listen there, but not be reached there.
[[nodiscard]] bool is_wildcard(std::string_view host) noexcept;

/// `address` as this host must write it. A link-local IPv6 address means something only together with the interface
/// that leads to it ("fe80::1%eth0"), and each host has its own names for its interfaces.
/// @param own_host  This host's address on the same network; its interface is put in. Others change nothing.
[[nodiscard]] SocketAddress as_seen_from(std::string_view own_host, SocketAddress address);

/// Whether `host` can be reached from this machine only: "localhost" in any case, an address in 127.0.0.0/8, "::1". A
/// name that only begins like one ("127.evil.example") is somebody else's.
[[nodiscard]] bool is_loopback(std::string_view host) noexcept;

}  // namespace lockstep::net
