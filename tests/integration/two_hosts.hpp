#pragma once
/// @file
/// Two hosts on one machine: network namespaces joined by a link that may be slow, or lose packets.
#include <optional>
#include <string>
#include <vector>

#include "made_link.hpp"

namespace lockstep::test {

/// Namespaces "<prefix>0" with address 10.77.0.1 and "<prefix>1" with 10.77.0.2. Needs root, /dev/net/tun and ip(8).
class TwoHosts {
 public:
  /// @throws IoError  A namespace or device cannot be made; see why_unavailable() first.
  explicit TwoHosts(const LinkQuality& quality);
  ~TwoHosts();
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  /// Why this machine cannot do it; empty if it can.
  [[nodiscard]] static std::string why_unavailable();

  /// `command` as it is run on a host.
  [[nodiscard]] std::vector<std::string> on_host(int host, const std::vector<std::string>& command) const;
  [[nodiscard]] static std::string address(int host) { return "10.77.0." + std::to_string(host + 1); }

  /// From now on nothing passes, in either direction: as if somebody had pulled the cable.
  void pull_cable() noexcept { link_->cut(); }

 private:
  [[nodiscard]] std::string name(int host) const;
  void remove() noexcept;
  std::optional<MadeLink> link_;
};

}  // namespace lockstep::test
