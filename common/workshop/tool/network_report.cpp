#include "tool/network_report.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace lockstep::tool {
namespace {

std::string speed_of(const std::string& interface) {
  int megabits = 0;
  std::ifstream("/sys/class/net/" + interface + "/speed") >> megabits;
  return megabits > 0 ? concat(" (", megabits, " Mbit/s)") : "";
}

// Names and states only; addresses are private.
Fact interfaces() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {"interfaces", "cannot be read", ""};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, freeifaddrs);
  std::string found;
  bool has_loopback = false;
  std::set<std::string> seen;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    const bool is_internet =
        each->ifa_addr != nullptr && (each->ifa_addr->sa_family == AF_INET || each->ifa_addr->sa_family == AF_INET6);
    if (!is_internet || (each->ifa_flags & IFF_UP) == 0 || !seen.insert(each->ifa_name).second) continue;
    has_loopback |= (each->ifa_flags & IFF_LOOPBACK) != 0;
    found += concat(found.empty() ? "" : ", ", each->ifa_name, speed_of(each->ifa_name));
  }
  return {"interfaces", found.empty() ? "none is up" : found,
          has_loopback ? "" : "ranks of one machine meet on the loopback interface: ip link set lo up"};
}

bool is_loopback_address(const sockaddr& address) {
  if (address.sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr) != 0;
  return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
}

Fact host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(name.data(), nullptr, &hints, &list);
  if (error != 0) {
    return {"host name", concat("does not resolve: ", gai_strerror(error)),
            "jobs on several machines need it: add it to /etc/hosts or DNS (jobs on this machine alone do not)"};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  bool is_loopback = true;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    is_loopback &= is_loopback_address(*each->ai_addr);
  }
  return {
      "host name",
      is_loopback ? "resolves to this machine's loopback address; other hosts need a different address" : "resolves",
      ""};
}

std::string limit_text(rlim_t limit, const std::string& unit = "") {
  return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit) + unit;
}

// Launcher and ranks raise the soft limit to the hard limit themselves.
Fact open_files() {
  constexpr rlim_t kEnough = 4096;
  rlimit values{};
  getrlimit(RLIMIT_NOFILE, &values);
  const std::string more =
      values.rlim_max > values.rlim_cur ? concat(", can be raised to ", limit_text(values.rlim_max)) : "";
  return {"open files", limit_text(values.rlim_cur) + more,
          values.rlim_max < kEnough
              ? "each rank may hold a connection to every other rank: root can raise the hard limit (ulimit -n 4096)"
              : ""};
}

Fact limit(const std::string& name, int resource, rlim_t least, const std::string& trouble = "",
           const std::string& unit = "") {
  rlimit values{};
  getrlimit(static_cast<__rlimit_resource>(resource), &values);
  return {name, limit_text(values.rlim_cur, unit), values.rlim_cur < least ? trouble : ""};
}

}  // namespace

FactGroup describe_network() {
  return {"network and limits",
          {interfaces(), host_name(), open_files(), limit("locked memory", RLIMIT_MEMLOCK, 0, "", " bytes"),
           limit("processes", RLIMIT_NPROC, 256, "ulimit -u 4096")}};
}

}  // namespace lockstep::tool
