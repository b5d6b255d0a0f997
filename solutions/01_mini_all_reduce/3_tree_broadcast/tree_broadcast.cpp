#include "01_mini_all_reduce/3_tree_broadcast/tree_broadcast.hpp"

namespace lockstep::tree {

void broadcast(std::span<float> values, int root, const Place& place) {
  // SOLUTION(01.3) broadcast: in each round, twice as many ranks have the values: send them, or receive them
  // Ranks are numbered from the root on, so that the root is 0 and the numbers below `distance` have the values.
  const int ranks = place.world_size;
  const int number = (place.rank - root + ranks) % ranks;
  const auto link_to = [&](int other) -> Link& { return place.link((other + root) % ranks); };
  for (int distance = 1; distance < ranks; distance *= 2) {
    if (number < distance) {
      if (number + distance < ranks) link_to(number + distance).send(values);
    } else if (number < 2 * distance) {
      link_to(number - distance).receive(values);
    }
  }
  // END SOLUTION
}

}  // namespace lockstep::tree
