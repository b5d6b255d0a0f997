#pragma once
/// @file
/// A link between two network namespaces of this process's own making, which delays, limits, loses or stops what
/// passes. (The kernel's netem does that too, if it is built in.)
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"

namespace lockstep::test {

/// The effects of a link on each packet of each direction.
struct LinkQuality {
  std::chrono::microseconds delay{0};  ///< Before a packet arrives.
  double bytes_per_second = 1e9;       ///< Packets queue one after the other.
  int lose_one_in = 0;                 ///< 0: none.
};

/// Carries packets between two devices that it makes. Needs root and /dev/net/tun.
class MadeLink {
 public:
  /// One end: a namespace by its name, and what the device is called there.
  struct End {
    std::string space, device;
  };
  /// The traffic: IP packets (a TUN device), or Ethernet frames, which a bridge takes as well (TAP).
  enum class Layer { kIp, kEthernet };

  /// @throws IoError  A device cannot be made.
  MadeLink(const End& first, const End& second, Layer layer, const LinkQuality& quality);
  MadeLink(const MadeLink&) = delete;
  MadeLink& operator=(const MadeLink&) = delete;

  /// From now on nothing passes, in either direction: as if somebody had pulled the cable.
  void cut() noexcept { is_cut_ = true; }

 private:
  static UniqueFd open_device(const End& end, Layer layer);
  void forward(const std::stop_token& stop, int from, int to) const;

  LinkQuality quality_;
  UniqueFd first_, second_;
  std::atomic<bool> is_cut_{false};
  std::vector<std::jthread> forwarders_;  // last: they stop before the devices go
};

}  // namespace lockstep::test
