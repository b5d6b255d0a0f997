#include "hosts.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "run_or_throw.hpp"
#include "support/subprocess.hpp"

namespace lockstep::test {
namespace {

std::string port(int host) { return "port" + std::to_string(host); }

}  // namespace

std::string Hosts::why_unavailable() {
  if (::geteuid() != 0) return "needs root";
  try {
    const Hosts probe(1);
    const Finished finished = run_program(probe.on_host(0, {"true"}));
    return finished.exit_code == 0 ? "" : "unshare does not work here: " + finished.err;
  } catch (const IoError& error) {
    return error.what();
  }
}

std::string Hosts::why_no_links() { return ::access("/dev/net/tun", R_OK | W_OK) == 0 ? "" : "needs /dev/net/tun"; }

Hosts::Hosts(int count, const std::map<int, LinkQuality>& links) : count_(count) {
  try {
    run_or_throw({"ip", "netns", "add", switch_space()});
    run_or_throw({"ip", "-n", switch_space(), "link", "add", "switch", "type", "bridge"});
    run_or_throw({"ip", "-n", switch_space(), "link", "set", "switch", "up"});
    for (int host = 0; host < count; ++host) {
      run_or_throw({"ip", "netns", "add", space(host)});
      connect(host, links);
      run_or_throw({"ip", "-n", switch_space(), "link", "set", port(host), "master", "switch", "up"});
      run_or_throw({"ip", "-n", space(host), "address", "add", address(host) + "/24", "dev", "cable"});
      run_or_throw({"ip", "-n", space(host), "link", "set", "cable", "up"});
      run_or_throw({"ip", "-n", space(host), "link", "set", "lo", "up"});
    }
  } catch (...) {
    remove();
    throw;
  }
}

Hosts::~Hosts() { remove(); }

void Hosts::connect(int host, const std::map<int, LinkQuality>& links) {
  const auto made = links.find(host);
  if (made == links.end()) {
    return run_or_throw({"ip", "-n", switch_space(), "link", "add", port(host), "type", "veth", "peer", "name", "cable",
                         "netns", space(host)});
  }
  made_links_.emplace_back(MadeLink::End{switch_space(), port(host)}, MadeLink::End{space(host), "cable"},
                           MadeLink::Layer::kEthernet, made->second);
}

void Hosts::remove() noexcept {
  made_links_.clear();
  try {
    for (int host = 0; host < count_; ++host) (void)run_program({"ip", "netns", "del", space(host)});
    (void)run_program({"ip", "netns", "del", switch_space()});
  } catch (const IoError&) {  // ip was there a moment ago; there is nobody to tell
  }
}

std::string Hosts::space(int host) const { return concat("lockstep-", ::getpid(), "-node", host); }
std::string Hosts::switch_space() const { return concat("lockstep-", ::getpid(), "-switch"); }

std::vector<std::string> Hosts::on_host(int host, const std::vector<std::string>& command) const {
  std::vector<std::string> whole{
      "ip",      "netns",   "exec",         space(host),         "unshare", "--uts", "--pid",
      "--fork",  "--mount", "--mount-proc", "--kill-child=KILL", "sh",      "-c",    "hostname \"$0\" && exec \"$@\"",
      name(host)};
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

// At the switch's end: the host sees no carrier, as with a cable.
void Hosts::set_link(int host, const std::string& state) const {
  run_or_throw({"ip", "-n", switch_space(), "link", "set", port(host), state});
}

}  // namespace lockstep::test
