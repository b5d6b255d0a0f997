#pragma once
/// @file
/// Several hosts on one machine: namespaces with a network, a name and process numbers of their own, at one switch.
#include <list>
#include <map>
#include <string>
#include <vector>

#include "made_link.hpp"

namespace lockstep::test {

/// Hosts "node0", "node1", ... with addresses 10.78.0.1, 10.78.0.2, ... Needs root, ip(8) and unshare(1); for links
/// that delay or lose packets also /dev/net/tun.
class Hosts {
 public:
  /// @throws IoError  A namespace or device cannot be made; see why_unavailable() first.
  /// @param links  Hosts whose link to the switch is not perfect.
  explicit Hosts(int count, const std::map<int, LinkQuality>& links = {});
  ~Hosts();
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  /// Why this machine cannot do it; empty if it can.
  [[nodiscard]] static std::string why_unavailable();
  /// The same for links that are not perfect.
  [[nodiscard]] static std::string why_no_links();

  /// `command` as it is run on a host, in a new set of process numbers: its end is that of all it has started.
  [[nodiscard]] std::vector<std::string> on_host(int host, const std::vector<std::string>& command) const;
  [[nodiscard]] static std::string address(int host) { return "10.78.0." + std::to_string(host + 1); }
  [[nodiscard]] static std::string name(int host) { return "node" + std::to_string(host); }

  /// The host's cable is pulled, or put back.
  void unplug(int host) const { set_link(host, "down"); }
  void plug_in(int host) const { set_link(host, "up"); }

 private:
  [[nodiscard]] std::string space(int host) const;
  [[nodiscard]] std::string switch_space() const;
  void set_link(int host, const std::string& state) const;
  void connect(int host, const std::map<int, LinkQuality>& links);
  void remove() noexcept;
  int count_;
  std::list<MadeLink> made_links_;
};

}  // namespace lockstep::test
