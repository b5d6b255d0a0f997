#include "made_link.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <random>
#include <utility>

#include "base/error.hpp"

namespace lockstep::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxPacketBytes = 2048;  // above the devices' MTU of 1500

struct Packet {
  Clock::time_point due;
  std::vector<char> bytes;
};

}  // namespace

MadeLink::MadeLink(const End& first, const End& second, Layer layer, const LinkQuality& quality)
    : quality_(quality), first_(open_device(first, layer)), second_(open_device(second, layer)) {
  const auto carry = [this](int from, int to) {
    forwarders_.emplace_back([this, from, to](const std::stop_token& stop) { forward(stop, from, to); });
  };
  carry(first_.get(), second_.get());
  carry(second_.get(), first_.get());
}

// A thread can change its network namespace by itself; a device is made in that of the thread that makes it.
UniqueFd MadeLink::open_device(const End& end, Layer layer) {
  UniqueFd device;
  std::exception_ptr error;
  std::thread([&] {
    try {
      const UniqueFd space(::open(("/run/netns/" + end.space).c_str(), O_RDONLY | O_CLOEXEC));
      if (!space.is_open() || ::setns(space.get(), CLONE_NEWNET) != 0) throw IoError("setns", errno);
      device = UniqueFd(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
      if (!device.is_open()) throw IoError("/dev/net/tun", errno);
      ifreq request{};
      request.ifr_flags = (layer == Layer::kIp ? IFF_TUN : IFF_TAP) | IFF_NO_PI;
      std::strncpy(request.ifr_name, end.device.c_str(), sizeof request.ifr_name - 1);
      if (::ioctl(device.get(), TUNSETIFF, &request) != 0) throw IoError("TUNSETIFF", errno);
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
  return device;
}

void MadeLink::forward(const std::stop_token& stop, int from, int to) const {
  constexpr std::size_t kQueuedPackets = 1000;  // as long as an interface's queue; what comes on top is lost
  std::mt19937 random(7);
  std::deque<Packet> queue;
  Clock::time_point link_free = Clock::now();
  std::vector<char> bytes(kMaxPacketBytes);
  while (!stop.stop_requested()) {
    pollfd entry{from, POLLIN, 0};
    ::poll(&entry, 1, queue.empty() ? 10 : 0);
    for (ssize_t length = 0; (length = ::read(from, bytes.data(), bytes.size())) > 0;) {
      const bool is_lost = quality_.lose_one_in > 0 && random() % static_cast<unsigned>(quality_.lose_one_in) == 0;
      if (is_cut_ || is_lost || queue.size() >= kQueuedPackets) continue;
      const std::chrono::duration<double> on_the_wire(static_cast<double>(length) / quality_.bytes_per_second);
      link_free = std::max(link_free, Clock::now()) + std::chrono::duration_cast<Clock::duration>(on_the_wire);
      queue.push_back({link_free + quality_.delay, {bytes.begin(), bytes.begin() + length}});
    }
    if (queue.empty()) continue;
    const auto pause = queue.front().due - Clock::now();
    if (pause > Clock::duration::zero()) {
      std::this_thread::sleep_for(std::min<Clock::duration>(pause, std::chrono::milliseconds(1)));
      continue;
    }
    // A full device loses the packet, as a network would.
    if (!is_cut_ && ::write(to, queue.front().bytes.data(), queue.front().bytes.size()) < 0) errno = 0;
    queue.pop_front();
  }
}

}  // namespace lockstep::test
