#pragma once
/// @file
/// A peer that sends more than its server can read.
#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "net/frame.hpp"
#include "net/stream_socket.hpp"
#include "support/soon.hpp"

namespace lockstep::test {

/// Sends the same frame again and again from its own thread, faster than anybody can check it. Gives up after 20 s: a
/// server that serves nobody else during the flood goes on then, and end() tells.
class Flood {
 public:
  /// Returns once the first 5000 frames are on their way.
  /// @param socket  Authenticated, within this host (without a MAC); must outlive the flood.
  Flood(net::StreamSocket& socket, const net::FrameHeader& header, std::span<const std::byte> payload) {
    const net::EncodedHeader sealed = net::seal(header, payload);
    std::vector<std::byte> frames;
    for (int i = 0; i < 5000; ++i) {
      frames.insert(frames.end(), sealed.begin(), sealed.end());
      frames.insert(frames.end(), payload.begin(), payload.end());
    }
    socket.send_all(frames, soon());
    thread_ = std::jthread([this, &socket, frames = std::move(frames)] {
      try {
        const Deadline limit = soon();
        while (!is_ended_ && !limit.has_expired()) socket.send_all(frames, soon());
        has_given_up_ = !is_ended_;
      } catch (const Error&) {  // disconnected
        has_given_up_ = true;
      }
    });
  }

  /// Ends the flood. @return  Whether it has lasted until now.
  [[nodiscard]] bool end() {
    is_ended_ = true;
    if (thread_.joinable()) thread_.join();
    return !has_given_up_;
  }

  ~Flood() { (void)end(); }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

 private:
  std::atomic<bool> is_ended_ = false;
  std::atomic<bool> has_given_up_ = false;
  std::jthread thread_;
};

}  // namespace lockstep::test
