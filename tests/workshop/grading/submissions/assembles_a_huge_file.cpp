// Asks the assembler for a file of many gigabytes.
#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

asm(".data\n.fill 0x7fffffffff, 1, 1\n.text\n");

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {}

}  // namespace lockstep::ring
