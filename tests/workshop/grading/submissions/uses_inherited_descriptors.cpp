// Reads from and writes to every inherited descriptor except those intended for it.
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  std::string found;
  for (int fd = 3; fd < 4096; ++fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0 || S_ISSOCK(status.st_mode) || fd == 4) continue;  // connections and the board
    char text[64] = {};
    (void)!::pread(fd, text, sizeof text - 1, 0);
    (void)!::write(fd, "changed", 7);
    found += " " + std::to_string(fd) + " " + text;
  }
  throw std::runtime_error(found.empty() ? "inherited nothing" : "found descriptors:" + found);
}

}  // namespace lockstep::ring
