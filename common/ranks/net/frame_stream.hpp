#pragma once
/// @file
/// Frames for loops around poll(2), in which no connection may block the others.
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "net/frame.hpp"

namespace lockstep::net {

/// A connection that sends and receives whole frames without blocking. Not thread-safe.
class FrameStream {
 public:
  /// Frames that a loop receives from one connection before it turns to the others: a peer may send faster than its
  /// frames are handled. poll(2) and ReadySet report the rest at once.
  static constexpr int kMostPerTurn = 64;

  /// @param socket  Connected and authenticated. @param limits  Limits on received frames.
  FrameStream(StreamSocket socket, FrameLimits limits) : socket_(std::move(socket)), limits_(limits) {}

  [[nodiscard]] StreamSocket& socket() noexcept { return socket_; }
  /// For poll.
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
  /// Events to poll for: POLLIN, and POLLOUT while data is queued.
  [[nodiscard]] short poll_events() const noexcept;

  /// The next whole frame, or nothing until more bytes arrive. Call until it returns nothing, or kMostPerTurn times.
  /// @throws IoError      The peer closed or the connection broke.
  /// @throws FormatError  The received bytes are not an acceptable frame.
  [[nodiscard]] std::optional<Frame> receive();

  /// Queues a frame and sends as much as the kernel accepts now. @throws IoError
  void send(const FrameHeader& header, std::span<const std::byte> payload);

  /// Sends more of the queued data. @throws IoError
  void flush();
  /// Bytes waiting for the peer to read.
  [[nodiscard]] std::size_t queued_bytes() const noexcept { return queued_bytes_; }
  /// Waits until nothing is queued, or `deadline`.
  void flush_until(const Deadline& deadline);

 private:
  StreamSocket socket_;
  FrameLimits limits_;
  EncodedHeader header_bytes_{};
  std::size_t header_received_ = 0;
  std::optional<Frame> partial_;
  std::size_t payload_received_ = 0;
  std::deque<std::vector<std::byte>> queue_;
  std::size_t sent_of_first_ = 0;
  std::size_t queued_bytes_ = 0;
};

}  // namespace lockstep::net
