#include "net/exchange.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"

namespace lockstep::net {
namespace {

// One direction out (header, then payload) and one in, advanced whenever poll(2) says so.
class Exchange {
 public:
  Exchange(TcpSocket& to, std::span<const std::byte> header, std::span<const std::byte> payload, TcpSocket& from,
           const Deadline& deadline)
      : to_(to), from_(from), header_(header), payload_(payload), deadline_(deadline) {}

  // Fills `bytes` while sending; returns as soon as `bytes` is full.
  void receive(std::span<std::byte> bytes) {
    wanted_ = bytes;
    received_ = 0;
    while (received_ < wanted_.size()) advance();
  }

  void finish_sending() {
    wanted_ = {};
    received_ = 0;
    while (!is_sent()) advance();
  }

 private:
  [[nodiscard]] std::size_t total() const { return header_.size() + payload_.size(); }
  [[nodiscard]] bool is_sent() const { return sent_ == total(); }
  [[nodiscard]] bool is_received() const { return received_ == wanted_.size(); }

  void advance() {
    std::size_t moved = 0;
    if (!is_sent()) {
      const std::size_t of_header = std::min(sent_, header_.size());
      moved = to_.send_some(header_.subspan(of_header), payload_.subspan(sent_ - of_header));
      sent_ += moved;
    }
    if (!is_received()) {
      const std::size_t count = from_.receive_some(wanted_.subspan(received_));
      received_ += count;
      moved += count;
    }
    if (moved == 0) wait();
  }

  void wait() const {
    std::array<pollfd, 2> entries{{{is_sent() ? -1 : to_.fd(), POLLOUT, 0},  // poll skips negative descriptors
                                   {is_received() ? -1 : from_.fd(), POLLIN, 0}}};
    const int ready = ::poll(entries.data(), entries.size(), deadline_.poll_timeout_ms());
    if (ready < 0 && errno != EINTR) throw IoError("poll", errno);
    if (ready > 0 || !deadline_.has_expired()) return;
    throw TimeoutError(concat("no progress for ", format_seconds(deadline_.waited()), ": ", sent_, " of ", total(),
                              " bytes sent to ", to_.peer(), ", ", received_, " of ", wanted_.size(),
                              " bytes received from ", from_.peer()));
  }

  TcpSocket& to_;
  TcpSocket& from_;
  std::span<const std::byte> header_;
  std::span<const std::byte> payload_;
  std::span<std::byte> wanted_;
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
  const Deadline& deadline_;
};

}  // namespace

void exchange(TcpSocket& to, std::span<const std::byte> header, std::span<const std::byte> payload, TcpSocket& from,
              std::span<std::byte> received, const Deadline& deadline) {
  Exchange both(to, header, payload, from, deadline);
  both.receive(received);
  both.finish_sending();
}

FrameHeader exchange_frames(TcpSocket& to, const FrameHeader& header, std::span<const std::byte> payload,
                            TcpSocket& from, const FrameLimits& limits, std::span<std::byte> received,
                            const Deadline& deadline, const HeaderCheck& check_header) {
  const EncodedHeader sealed = seal(header, payload);
  Exchange both(to, sealed, payload, from, deadline);
  EncodedHeader arrived;
  both.receive(arrived);
  const FrameHeader opened = open_header(arrived, limits, from.peer());
  if (check_header) check_header(opened);
  if (opened.payload_bytes != received.size()) {
    throw FormatError(concat(from.peer(), " sent a payload of ", opened.payload_bytes, " bytes where ", received.size(),
                             " were expected"));
  }
  both.receive(received);
  check_payload(opened, received, from.peer());
  both.finish_sending();
  return opened;
}

}  // namespace lockstep::net
