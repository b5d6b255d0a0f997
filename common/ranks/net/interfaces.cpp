#include "net/interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "net/resolve.hpp"

namespace lockstep::net {
namespace {

// For this machine's own name, which resolves slowly only if something is wrong.
constexpr std::chrono::seconds kOwnNameLimit{10};

bool is_ipv6(std::string_view host) { return host.find(':') != std::string_view::npos; }

SocketAddress address_of(const sockaddr& raw) {
  const socklen_t bytes = raw.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  sockaddr_storage copy{};
  std::memcpy(&copy, &raw, bytes);
  return to_address(copy, bytes);
}

// "eth,ib" -> "eth", "ib"
std::vector<std::string_view> split(std::string_view names) {
  std::vector<std::string_view> parts;
  while (!names.empty()) {
    const std::string_view part = names.substr(0, names.find(','));
    if (!part.empty()) parts.push_back(part);
    names.remove_prefix(std::min(names.size(), part.size() + 1));  // and the comma
  }
  return parts;
}

using Addresses = std::vector<InterfaceAddress>;

// The addresses of the first interface that `matches`, in the order of `addresses`.
template <typename Matches>
Addresses of_first_interface(const Addresses& addresses, Matches matches) {
  const auto first = std::ranges::find_if(addresses, [&](const auto& each) { return matches(each); });
  Addresses found;
  if (first == addresses.end()) return found;
  std::ranges::copy_if(addresses, std::back_inserter(found),
                       [&](const auto& each) { return each.interface == first->interface; });
  return found;
}

Addresses of_wanted(const std::string& wanted, const Addresses& addresses) {
  const auto names = split(std::string_view(wanted).substr(wanted.find_first_not_of("^=")));
  if (wanted.starts_with('^')) {
    return of_first_interface(addresses, [&](const InterfaceAddress& each) {
      return !is_loopback(each.address) &&
             std::ranges::none_of(names, [&](std::string_view name) { return each.interface.starts_with(name); });
    });
  }
  for (const std::string_view name : names) {
    Addresses found = of_first_interface(addresses, [&](const auto& each) { return each.interface == name; });
    if (found.empty() && !wanted.starts_with('=')) {
      found = of_first_interface(addresses, [&](const auto& each) { return each.interface.starts_with(name); });
    }
    if (!found.empty()) return found;
  }
  return {};
}

bool has_ipv6() { return UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)).is_open(); }

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) throw IoError("reading this host's network interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  Addresses found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    const bool is_up = (each->ifa_flags & IFF_UP) != 0 && each->ifa_addr != nullptr;
    if (!is_up || (each->ifa_addr->sa_family != AF_INET && each->ifa_addr->sa_family != AF_INET6)) continue;
    found.push_back({each->ifa_name, address_of(*each->ifa_addr).host});
  }
  const auto kind = [](const InterfaceAddress& each) {
    return each.address.find('%') != std::string::npos ? 2 : is_ipv6(each.address) ? 1 : 0;
  };
  std::ranges::stable_sort(found, {}, kind);
  return found;
}

std::string describe(const std::vector<InterfaceAddress>& addresses) {
  std::string text;
  std::set<std::string> described;
  for (const InterfaceAddress& first : addresses) {
    if (!described.insert(first.interface).second) continue;
    text += concat(text.empty() ? "" : "; ", first.interface);
    std::string_view separator = " ";
    for (const InterfaceAddress& each : addresses) {
      if (each.interface != first.interface) continue;
      text += concat(separator, each.address);
      separator = ", ";
    }
  }
  return text.empty() ? "none that is up" : text;
}

bool is_own_address(std::string_view host, const std::vector<InterfaceAddress>& addresses) {
  if (host.starts_with("127.")) return true;  // all of 127.0.0.0/8, although the interface has one
  return std::ranges::any_of(addresses, [&](const auto& each) { return each.address == host; });
}

std::string address_of_interface(const std::string& wanted, std::string_view family_of,
                                 const std::vector<InterfaceAddress>& addresses) {
  const Addresses found = wanted.find_first_not_of("^=") == std::string::npos ? Addresses{}  // no name in it
                                                                              : of_wanted(wanted, addresses);
  if (found.empty()) {
    throw FormatError(concat("LOCKSTEP_INTERFACE=", wanted, " names no network interface of this host that is up and ",
                             "has an address; there are: ", describe(addresses)));
  }
  const auto is_preferred = [&](const auto& each) {
    return !family_of.empty() && is_ipv6(each.address) == is_ipv6(family_of);
  };
  const auto preferred = std::ranges::find_if(found, is_preferred);
  return preferred == found.end() ? found.front().address : preferred->address;
}

std::optional<std::string> given_bind_address(
    std::string_view family_of, const std::function<std::optional<std::string>(const std::string& name)>& lookup) {
  if (const auto text = lookup("LOCKSTEP_BIND_ADDRESS")) {
    std::string host = without_brackets(*text);
    if (!is_number(host)) host = listening_address({host, 0}, Deadline::after(kOwnNameLimit)).host;
    if (is_wildcard(host)) return std::nullopt;
    const Addresses own = interface_addresses();
    if (is_number(host) && !is_own_address(host, own)) {
      throw FormatError(
          concat("LOCKSTEP_BIND_ADDRESS=", *text, " is not an address of this host; it has: ", describe(own)));
    }
    return host;
  }
  const auto interface = lookup("LOCKSTEP_INTERFACE");
  return interface ? std::optional(address_of_interface(*interface, family_of)) : std::nullopt;
}

SocketAddress listening_address(const SocketAddress& known_as, const Deadline& deadline) {
  if (known_as.host == "localhost" || is_number(known_as.host)) return known_as;
  const AddressList found = resolve_until_known(known_as, deadline);
  const Addresses own = interface_addresses();
  std::string seen;
  bool is_ours = false;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    const std::string address = to_address(*each).host;
    is_ours |= is_own_address(address, own);
    if (each == found.get() && each->ai_next == nullptr && is_ours && !is_loopback(address)) {
      return {address, known_as.port};
    }
    seen += concat(seen.empty() ? "" : ", ", address);
  }
  if (is_ours) return {has_ipv6() ? "::" : "0.0.0.0", known_as.port};
  throw FormatError(concat("cannot listen on ", known_as.text(), ", which is ", seen, " and not this host; this host ",
                           "has: ", describe(own)));
}

}  // namespace lockstep::net
