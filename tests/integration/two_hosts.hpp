#pragma once
/// @file
/// Two hosts on one machine: network namespaces joined by a link of this process's own making, which delays, limits,
/// loses or stops what passes. (The kernel's netem does that too, where it is built in.)
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"

namespace lockstep::test {

/// What the link does to each packet of each direction.
struct LinkQuality {
  std::chrono::microseconds delay{0};  ///< Before a packet arrives.
  double bytes_per_second = 1e9;       ///< Packets queue behind each other.
  int lose_one_in = 0;                 ///< 0: none.
};

/// Namespaces "<prefix>0" with address 10.77.0.1 and "<prefix>1" with 10.77.0.2. Needs root, /dev/net/tun and ip(8).
class TwoHosts {
 public:
  /// @throws IoError  A namespace or device cannot be made; see why_unavailable() first.
  explicit TwoHosts(const LinkQuality& quality);
  ~TwoHosts();
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  /// Why this machine cannot do it; empty where it can.
  [[nodiscard]] static std::string why_unavailable();

  /// `command` as it is run on a host.
  [[nodiscard]] std::vector<std::string> on_host(int host, const std::vector<std::string>& command) const;
  [[nodiscard]] static std::string address(int host) { return "10.77.0." + std::to_string(host + 1); }

  /// From now on nothing passes, in either direction: as if somebody had pulled the cable.
  void pull_cable() noexcept { is_cut_ = true; }

 private:
  [[nodiscard]] std::string name(int host) const;
  UniqueFd open_device(int host) const;
  void forward(const std::stop_token& stop, int from, int to) const;

  LinkQuality quality_;
  std::vector<UniqueFd> devices_;
  std::atomic<bool> is_cut_{false};
  std::vector<std::jthread> forwarders_;
};

}  // namespace lockstep::test
