#pragma once
/// @file
/// The address of a listener.
#include <string>
#include <string_view>

namespace lockstep::net {

/// A host (name or number) and a TCP port. A value type.
struct SocketAddress {
  std::string host = "127.0.0.1";
  int port = 0;  ///< 0: the kernel chooses a free port for a listener.

  bool operator==(const SocketAddress&) const = default;

  /// "127.0.0.1:29500", "[fd00::1]:29500" or "[fe80::1%eth0]:29500", with brackets around an IPv6 host.
  [[nodiscard]] std::string text() const;

  /// Parses the format of text().
  /// @throws FormatError  No "host:port", an IPv6 host without brackets, or a port outside [0, 65535].
  [[nodiscard]] static SocketAddress parse(std::string_view text);
};

/// `host` without the brackets around an IPv6 address.
[[nodiscard]] std::string without_brackets(std::string_view host);

/// True if `host` is an IPv4 or IPv6 address rather than a name.
[[nodiscard]] bool is_number(std::string_view host) noexcept;

/// True if `host` stands for all addresses of a host: "0.0.0.0", "::". It works for listening, not for connecting.
[[nodiscard]] bool is_wildcard(std::string_view host) noexcept;

/// `address` as this host must write it. A link-local IPv6 address is valid only with the interface to its network
/// ("fe80::1%eth0"), and interface names differ between hosts.
/// @param own_host  This host's address on the same network; supplies the interface. Others are returned unchanged.
[[nodiscard]] SocketAddress as_seen_from(std::string_view own_host, SocketAddress address);

/// True if `host` can be reached from this machine only: "localhost" in any case, an address in 127.0.0.0/8, "::1". A
/// name that merely begins like one ("127.evil.example") is not loopback.
[[nodiscard]] bool is_loopback(std::string_view host) noexcept;

}  // namespace lockstep::net
