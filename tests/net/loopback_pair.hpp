#pragma once
/// @file
/// Two connected sockets on loopback.
#include <chrono>

#include "net/tcp_listener.hpp"
#include "net/tcp_socket.hpp"

namespace lockstep::test {

struct LoopbackPair {
  net::TcpSocket left;
  net::TcpSocket right;
};

[[nodiscard]] inline LoopbackPair connect_pair() {
  const auto deadline = Deadline::after(std::chrono::seconds{10});
  net::TcpListener listener;
  LoopbackPair pair;
  pair.left = net::TcpSocket::connect(listener.address(), deadline);
  pair.right = listener.accept(deadline);
  return pair;
}

}  // namespace lockstep::test
