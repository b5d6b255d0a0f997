#include <vector>

#include "01_mini_all_reduce/3_tree_broadcast/tree_broadcast.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"root_is_always_0", "rank 0 is taken for the root",
     "Count the ranks from the root on: (rank - root + world_size) % world_size."},
    {"numbers_taken_for_ranks", "a number that is counted from the root on is used as a rank",
     "Add the root again, modulo world_size, before you call place.link()."},
    {"root_sends_to_all", "the root sends to every other rank itself",
     "That is the star: P - 1 rounds. Who else can send after the first round?"},
    {"chain", "every rank sends only to the next one",
     "After the first round two ranks have the values. Let both send."},
    {"near_ranks_first", "a rank that is to pass the values on to many others serves the nearest ones first",
     "In the rounds that are left, the first receiver can reach the most others. Send to it first."},
    {"one_round_too_few", "the number of rounds is rounded down",
     "5 ranks need 3 rounds. Which distances does your loop visit?"},
    {"powers_of_two_only", "the distances begin at world_size / 2, which reaches all ranks of powers of two only",
     "With 5 ranks the distances are 4, 2 and 1: begin with the largest power of two below world_size."},
    {"xor_root", "the ranks are counted from the root on by an exclusive or, which needs a power of two",
     "(rank - root + world_size) % world_size counts round, whatever the number of ranks."},
    {"adds_the_root", "the root is added to the rank where it should be subtracted",
     "The root is number 0: (rank - root + world_size) % world_size; number n is rank (n + root) % world_size."},
    {"no_modulo", "the root is added to a number without starting again at 0 after the last rank",
     "With 4 ranks and root 1 the number 3 is rank 0: (number + root) % world_size."},
    {"keeps_the_values", "a rank that has received the values returns at once, and passes them on to nobody",
     "It has them from then on, and sends in every round that follows."},
    {"sends_beyond_the_last_rank", "ranks also send to numbers beyond the last rank",
     "In the last round not every rank has a partner: is number + distance still less than world_size?"},
    {"sends_before_it_has_received", "ranks pass on what they had before they have received",
     "A rank sends in the rounds after the one in which it receives."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::tree {
namespace {

using exercise::is_mistake;

void send_to_all(std::span<float> values, int root, const Place& place) {
  if (place.rank != root) return place.link(root).receive(values);
  for (int peer = 0; peer < place.world_size; ++peer)
    if (peer != root) place.link(peer).send(values);
}

void pass_to_next(std::span<float> values, int root, const Place& place) {
  const int ranks = place.world_size, next = (place.rank + 1) % ranks;
  if (ranks == 1) return;
  if (place.rank != root) place.link((place.rank - 1 + ranks) % ranks).receive(values);
  if (next != root) place.link(next).send(values);
}

// The tree in which number n receives from n without its lowest bit, but with its messages in the wrong order.
void serve_near_ranks_first(std::span<float> values, int root, const Place& place) {
  const int ranks = place.world_size, number = (place.rank - root + ranks) % ranks;
  const auto link_to = [&](int other) -> Link& { return place.link((other + root) % ranks); };
  if (number != 0) link_to(number & (number - 1)).receive(values);
  for (int distance = 1; number + distance < ranks && (number & distance) == 0; distance *= 2)
    link_to(number + distance).send(values);
}

// Each rank with values serves the other half of its part; parts are halved from the whole on.
void halve_the_ranks(std::span<float> values, int root, const Place& place) {
  const int ranks = place.world_size, number = (place.rank - root + ranks) % ranks;
  const auto link_to = [&](int other) -> Link& { return place.link((other + root) % ranks); };
  for (int distance = ranks / 2; distance >= 1; distance /= 2) {
    if (number % (2 * distance) == 0 && number + distance < ranks) link_to(number + distance).send(values);
    if (number % (2 * distance) == distance) link_to(number - distance).receive(values);
  }
}

int number_of(int rank, int root, int ranks) {
  if (is_mistake("xor_root")) return rank ^ root;
  if (is_mistake("adds_the_root")) return (rank + root) % ranks;
  return (rank - root + ranks) % ranks;
}

}  // namespace

void broadcast(std::span<float> values, int root, const Place& place) {
  if (is_mistake("root_sends_to_all")) return send_to_all(values, root, place);
  if (is_mistake("powers_of_two_only")) return halve_the_ranks(values, root, place);
  if (is_mistake("chain")) return pass_to_next(values, root, place);
  if (is_mistake("near_ranks_first")) return serve_near_ranks_first(values, root, place);
  if (is_mistake("root_is_always_0")) root = 0;
  const int ranks = place.world_size;
  const int number = number_of(place.rank, root, ranks);
  const int last = is_mistake("one_round_too_few") ? ranks / 2 + 1 : ranks;
  const auto link_to = [&](int other) -> Link& {
    const bool is_no_rank = is_mistake("numbers_taken_for_ranks") || other >= ranks;
    if (is_mistake("no_modulo")) return place.link(other + root);
    if (is_mistake("xor_root")) return place.link(other ^ root);
    return place.link(is_no_rank ? other : (other + root) % ranks);
  };
  const std::vector<float> before(values.begin(), values.end());
  for (int distance = 1; distance < last; distance *= 2) {
    if (number < distance) {
      const bool has_partner = number + distance < ranks || is_mistake("sends_beyond_the_last_rank");
      const bool is_early = is_mistake("sends_before_it_has_received") && number != 0;
      if (has_partner) link_to(number + distance).send(is_early ? std::span<const float>(before) : values);
    } else if (number < 2 * distance) {
      link_to(number - distance).receive(values);
      if (is_mistake("keeps_the_values")) return;
    }
  }
}

}  // namespace lockstep::tree
