#include "net/address.hpp"

#include <arpa/inet.h>
#include <strings.h>

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
  const bool is_in_brackets = host.front() == '[' && host.back() == ']';
  if (!is_in_brackets && host.find_first_of(":[]") != std::string_view::npos) {
    throw FormatError(concat("'", text, "': an IPv6 address stands in brackets: [fd00::1]:29500"));
  }
  if (host == "[]") throw FormatError(concat("'", text, "' names no host"));
  const std::string_view digits = text.substr(colon + 1);  // after the colon
  int port = -1;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || stop != digits.data() + digits.size() || port < 0 || port > 65535) {
    throw FormatError(concat("'", text, "': the port is not an integer from 0 to 65535"));
  }
  return {without_brackets(host), port};
}

std::string without_brackets(std::string_view host) {
  const bool is_in_brackets = host.starts_with('[') && host.ends_with(']');
  return std::string(is_in_brackets ? host.substr(1, host.size() - 2) : host);
}

bool is_number(std::string_view host) noexcept {
  in6_addr ignored{};  // large enough for both
  const std::string text(host.substr(0, host.find('%')));
  return ::inet_pton(AF_INET, text.c_str(), &ignored) == 1 || ::inet_pton(AF_INET6, text.c_str(), &ignored) == 1;
}

bool is_wildcard(std::string_view host) noexcept { return host == "0.0.0.0" || host == "::"; }

SocketAddress as_seen_from(std::string_view own_host, SocketAddress address) {
  const std::size_t own_scope = own_host.find('%'), scope = address.host.find('%');
  if (own_scope == std::string_view::npos || scope == std::string::npos) return address;
  address.host.replace(scope, std::string::npos, own_host.substr(own_scope));
  return address;
}

bool is_loopback(std::string_view host) noexcept {
  char text[INET6_ADDRSTRLEN] = {};  // longer than any loopback host
  if (host.size() >= sizeof text || host.find('\0') != std::string_view::npos) return false;
  host.copy(text, host.size());
  if (strcasecmp(text, "localhost") == 0 || strcasecmp(text, "localhost.") == 0) return true;  // the dot: the root
  in_addr v4{};
  if (::inet_pton(AF_INET, text, &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text, &v6) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);  // ::ffff:127.0.0.1
}

}  // namespace lockstep::net
