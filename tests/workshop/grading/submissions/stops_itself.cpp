// Ignores signals, and stops itself.
#include <csignal>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  for (int signal = 1; signal < 64; ++signal) std::signal(signal, SIG_IGN);
  while (true) std::raise(SIGSTOP);
}

}  // namespace lockstep::ring
