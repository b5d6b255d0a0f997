// Sends garbage over every connection, then closes all of them.
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  const std::string garbage(1 << 16, '\xff');
  for (int fd = 5; fd < 64; ++fd) (void)!::send(fd, garbage.data(), garbage.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  for (int fd = 0; fd < 64; ++fd) ::close(fd);
  _exit(0);
}

}  // namespace lockstep::ring
