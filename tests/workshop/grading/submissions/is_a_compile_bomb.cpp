// Keeps the compiler busy endlessly.
#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

template <int depth, typename T>
struct Bomb {
  using Left = typename Bomb<depth - 1, Bomb<depth, T>>::Left;
  using Right = typename Bomb<depth - 1, Bomb<depth, Bomb<depth, T>>>::Right;
};
template <typename T>
struct Bomb<0, T> {
  using Left = T;
  using Right = T;
};
using Exploded = Bomb<100, int>::Left;

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) { values[0] = static_cast<float>(place.rank); }

}  // namespace lockstep::ring
