#include "net/address.hpp"

#include <charconv>

#include "base/error.hpp"

namespace lockstep::net {

std::string SocketAddress::text() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? concat("[", host, "]:", port) : concat(host, ":", port);
}

SocketAddress SocketAddress::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) throw FormatError(concat("'", text, "' is not host:port"));
  std::string_view host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const std::string_view digits = text.substr(colon + 1);  // past the colon
  int port = -1;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || stop != digits.data() + digits.size() || port < 0 || port > 65535) {
    throw FormatError(concat("'", text, "': the port is not an integer from 0 to 65535"));
  }
  return {std::string(host), port};
}

bool is_loopback(std::string_view host) noexcept {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace lockstep::net
