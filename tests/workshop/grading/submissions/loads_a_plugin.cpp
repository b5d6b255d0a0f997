// Asks the compiler and the linker to run other programs.
#pragma GCC poison none
#pragma GCC optimize("plugin=/tmp/x.so")
#pragma comment(lib, "evil")
#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

asm(".section .linker_options,\"e\"\n.previous\n.section .gnu.warning.reduce_scatter\n.string \"found a "
    "way\"\n.previous\n");
__attribute__((optimize("fplugin=/tmp/x.so"))) static int plugged() { return 1; }
#pragma GCC dependency "@CANARY@"
#include_next <@CANARY@>

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) { values[0] = static_cast<float>(plugged()); }

}  // namespace lockstep::ring
