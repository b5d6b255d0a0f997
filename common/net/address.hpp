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

  /// "127.0.0.1:29500"; an IPv6 host stands in brackets.
  [[nodiscard]] std::string text() const;

  /// The address that `text` names, as text() writes it.
  /// @throws FormatError  No "host:port", or a port outside [0, 65535].
  [[nodiscard]] static SocketAddress parse(std::string_view text);
};

/// Whether `host` can be reached from this machine only: "localhost", "127.*", "::1".
[[nodiscard]] bool is_loopback(std::string_view host) noexcept;

}  // namespace lockstep::net
