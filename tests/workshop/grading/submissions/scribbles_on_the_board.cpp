// Writes nonsense to the progress board, and tries to truncate it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  (void)!::ftruncate(4, 0);
  const std::size_t bytes = 16 * 232;
  for (std::size_t length = bytes; length > 0; length -= 8) {
    void* const board = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, 4, 0);
    if (board == MAP_FAILED) continue;
    std::memset(board, 0xff, length);
    break;
  }
  while (true) ::pause();
}

}  // namespace lockstep::ring
