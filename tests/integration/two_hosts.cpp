#include "two_hosts.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "run_or_throw.hpp"
#include "support/subprocess.hpp"

namespace lockstep::test {

std::string TwoHosts::why_unavailable() {
  if (::geteuid() != 0) return "needs root";
  if (::access("/dev/net/tun", R_OK | W_OK) != 0) return "needs /dev/net/tun";
  try {
    const std::string probe = "lockstep-probe-" + std::to_string(::getpid());
    if (run_program({"ip", "netns", "add", probe}).exit_code != 0) return "ip netns add does not work here";
    (void)run_program({"ip", "netns", "del", probe});
  } catch (const IoError&) {
    return "needs ip (package iproute2)";
  }
  return "";
}

TwoHosts::TwoHosts(const LinkQuality& quality) {
  try {
    for (int host = 0; host < 2; ++host) run_or_throw({"ip", "netns", "add", name(host)});
    link_.emplace(MadeLink::End{name(0), "cable"}, MadeLink::End{name(1), "cable"}, MadeLink::Layer::kIp, quality);
    for (int host = 0; host < 2; ++host) {
      run_or_throw(on_host(host, {"ip", "link", "set", "lo", "up"}));
      run_or_throw(on_host(host, {"ip", "address", "add", address(host) + "/24", "dev", "cable"}));
      run_or_throw(on_host(host, {"ip", "link", "set", "cable", "up"}));
    }
  } catch (...) {
    remove();
    throw;
  }
}

TwoHosts::~TwoHosts() { remove(); }

void TwoHosts::remove() noexcept {
  link_.reset();
  for (int host = 0; host < 2; ++host) {
    try {
      (void)run_program({"ip", "netns", "del", name(host)});
    } catch (const IoError&) {  // ip was there a moment ago; there is nobody to tell
    }
  }
}

std::string TwoHosts::name(int host) const { return concat("lockstep-", ::getpid(), "-", host); }

std::vector<std::string> TwoHosts::on_host(int host, const std::vector<std::string>& command) const {
  std::vector<std::string> whole{"ip", "netns", "exec", name(host)};
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

}  // namespace lockstep::test
