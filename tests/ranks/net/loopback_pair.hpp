#pragma once
/// @file
/// Two connected sockets on loopback.
#include <chrono>

#include "net/stream_socket.hpp"
#include "net/tcp_listener.hpp"

namespace lockstep::test {

struct LoopbackPair {
  net::StreamSocket left;
  net::StreamSocket right;
};

[[nodiscard]] inline LoopbackPair connect_pair() {
  const auto deadline = Deadline::after(std::chrono::seconds{10});
  net::TcpListener listener;
  LoopbackPair pair;
  pair.left = net::StreamSocket::connect(listener.address(), deadline);
  pair.right = listener.accept(deadline);
  return pair;
}

}  // namespace lockstep::test
