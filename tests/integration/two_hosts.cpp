#include "two_hosts.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <random>

#include "base/error.hpp"
#include "run_or_throw.hpp"
#include "support/subprocess.hpp"

namespace lockstep::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxPacketBytes = 2048;  // above the devices' MTU of 1500

struct Packet {
  Clock::time_point due;
  std::vector<char> bytes;
};

}  // namespace

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

TwoHosts::TwoHosts(const LinkQuality& quality) : quality_(quality) {
  for (int host = 0; host < 2; ++host) {
    run_or_throw({"ip", "netns", "add", name(host)});
    devices_.push_back(open_device(host));
    run_or_throw(on_host(host, {"ip", "link", "set", "lo", "up"}));
    run_or_throw(on_host(host, {"ip", "address", "add", address(host) + "/24", "dev", "cable"}));
    run_or_throw(on_host(host, {"ip", "link", "set", "cable", "up"}));
  }
  for (int host = 0; host < 2; ++host) {
    forwarders_.emplace_back(
        [this, host](const std::stop_token& stop) { forward(stop, devices_[host].get(), devices_[1 - host].get()); });
  }
}

TwoHosts::~TwoHosts() {
  forwarders_.clear();  // joins
  devices_.clear();
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

// A thread can change its network namespace by itself; a device is made in that of the thread that makes it.
UniqueFd TwoHosts::open_device(int host) const {
  UniqueFd device;
  std::exception_ptr error;
  std::thread([&] {
    try {
      const UniqueFd space(::open(("/run/netns/" + name(host)).c_str(), O_RDONLY | O_CLOEXEC));
      if (!space.is_open() || ::setns(space.get(), CLONE_NEWNET) != 0) throw IoError("setns", errno);
      device = UniqueFd(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
      if (!device.is_open()) throw IoError("/dev/net/tun", errno);
      ifreq request{};
      request.ifr_flags = IFF_TUN | IFF_NO_PI;
      std::strncpy(request.ifr_name, "cable", sizeof request.ifr_name - 1);
      if (::ioctl(device.get(), TUNSETIFF, &request) != 0) throw IoError("TUNSETIFF", errno);
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
  return device;
}

void TwoHosts::forward(const std::stop_token& stop, int from, int to) const {
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
