#include "exercise/alternatives.hpp"

#include "01_mini_all_reduce/3_tree_broadcast/tree_broadcast.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"far_ranks_first",
     "the tree of MPICH: a number receives from the one without its lowest bit, and serves the farthest first"},
    {"halves_the_range",
     "recursive: a rank that has the values gives them to the middle of its range, and both halves go on"},
    {"exchanges_root_and_0", "the root and rank 0 exchange their numbers instead of counting from the root on"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::tree {

using exercise::is_alternative;

namespace {

void serve_far_ranks_first(std::span<float> values, int root, const Place& place) {
  const int ranks = place.world_size, number = (place.rank - root + ranks) % ranks;
  const auto link_to = [&](int other) -> Link& { return place.link((other + root) % ranks); };
  int distance = 1;
  while (distance < ranks && (number & distance) == 0) distance *= 2;
  if (number != 0) link_to(number - distance).receive(values);
  for (distance /= 2; distance > 0; distance /= 2)
    if (number + distance < ranks) link_to(number + distance).send(values);
}

// Numbers [begin, end), of which `begin` has the values.
void halve(std::span<float> values, int begin, int end, int root, const Place& place) {
  if (end - begin < 2) return;
  const int ranks = place.world_size, number = (place.rank - root + ranks) % ranks,
            middle = begin + (end - begin + 1) / 2;
  if (number == begin) place.link((middle + root) % ranks).send(values);
  if (number == middle) place.link((begin + root) % ranks).receive(values);
  if (number < middle) return halve(values, begin, middle, root, place);
  halve(values, middle, end, root, place);
}

}  // namespace

void broadcast(std::span<float> values, int root, const Place& place) {
  if (is_alternative("far_ranks_first")) return serve_far_ranks_first(values, root, place);
  if (is_alternative("halves_the_range")) return halve(values, 0, place.world_size, root, place);
  const auto exchanged = [&](int rank) { return rank == root ? 0 : rank == 0 ? root : rank; };
  const int number = exchanged(place.rank);
  for (int distance = 1; distance < place.world_size; distance *= 2) {
    if (number < distance && number + distance < place.world_size)
      place.link(exchanged(number + distance)).send(values);
    if (number >= distance && number < 2 * distance) place.link(exchanged(number - distance)).receive(values);
  }
}

}  // namespace lockstep::tree
