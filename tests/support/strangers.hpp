#pragma once
/// @file
/// Connections to an open port that do not come from the job's ranks.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "net/bytes.hpp"
#include "net/frame.hpp"
#include "net/stream_socket.hpp"

namespace lockstep::test {

/// One kind of stranger, by its first message.
struct Stranger {
  std::string_view kind;
  std::string bytes;
};

/// All kinds: nothing, garbage, half a header, a huge length, a web browser.
[[nodiscard]] inline std::vector<Stranger> strangers() {
  const net::EncodedHeader whole = net::seal({.type = net::FrameType::kStoreRequest}, {});
  const std::string header = net::to_text(whole);
  std::string huge = header;
  huge.replace(24, 8, 8, '\xFF');  // the payload's length
  return {{"nothing", ""},
          {"garbage", std::string(5000, '\xA5')},
          {"one byte", "L"},
          {"half a hello", std::string("LKSH\1\0\1\0", 8)},
          {"half a header", header.substr(0, 32)},
          {"a frame without a handshake", header},
          {"a huge length", huge},
          {"HTTP", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"}};
}

/// Connects `count` strangers of each kind, which send their messages and stay connected during the result's lifetime.
/// A stranger that is disconnected while sending counts as answered.
[[nodiscard]] inline std::vector<net::StreamSocket> send_strangers(const net::SocketAddress& address, int count) {
  const auto deadline = Deadline::after(std::chrono::seconds(10));
  std::vector<net::StreamSocket> connected;
  for (const Stranger& stranger : strangers()) {
    for (int i = 0; i < count; ++i) {
      connected.push_back(net::StreamSocket::connect(address, deadline));
      try {
        connected.back().send_all(net::as_bytes(stranger.bytes), deadline);
      } catch (const IoError&) {
      }
    }
  }
  return connected;
}

}  // namespace lockstep::test
