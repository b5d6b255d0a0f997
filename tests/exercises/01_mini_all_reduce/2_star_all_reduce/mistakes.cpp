#include <algorithm>
#include <vector>

#include "01_mini_all_reduce/2_star_all_reduce/star_all_reduce.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"keeps_the_sum", "the centre adds, but does not send the sum back, or not to all ranks",
     "What do the other ranks wait for? Each of the ranks 1 to world_size - 1 gets the sum."},
    {"answers_too_early", "the centre answers each rank before it has added the ranks after it",
     "Who can know the sum when rank 1's values arrive? Receive from all ranks first, then answer all of them."},
    {"receives_over_its_own", "the centre receives into the buffer that holds its own values",
     "Receive into a buffer of its own, and add that to `values`."},
    {"leaves_itself_out", "the centre's sum begins with zeros, and its own values are not added",
     "The centre is a rank like the others: its values belong to the sum."},
    {"bytes_for_elements", "the buffer for what arrives has as many floats as the values have bytes",
     "receive() fills the whole span, and waits until it is full: values.size() floats."},
    {"one_rank_too_few", "the centre does not add the last rank's values",
     "Ranks are 1 to world_size - 1. Where does your loop end?"},
    {"divides", "the sum is divided by the number of ranks", "A sum is asked for, not a mean."},
    {"own_values_last", "the centre's own values are added after those of the others",
     "The order is that of the ranks: the sum begins with rank 0's values."},
    {"adds_in_double", "the sum is computed in double and rounded once at the end",
     "The order of ranks is that of float additions: round after each, as `values[i] += arrived[i]` does."},
    {"adds_the_sum", "a rank adds the sum that it gets to its own values, which are in it already",
     "Receive the sum into `values` itself."},
    {"last_rank_first", "the centre adds the highest rank first",
     "Float addition rounds, so the order matters: rank 0, then rank 1, then rank 2."},
    {"everyone_receives_first", "the other ranks wait for the sum before they have sent their values",
     "Draw the first message of each rank: who sends, while all of them receive?"},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::star {
namespace {

using exercise::is_mistake;

void take_part(std::span<float> values, Link& centre) {
  if (is_mistake("everyone_receives_first")) {
    std::vector<float> sum(values.size());
    centre.receive(sum);
    centre.send(values);
    std::ranges::copy(sum, values.begin());
    return;
  }
  centre.send(values);
  if (is_mistake("adds_the_sum")) {
    std::vector<float> sum(values.size());
    centre.receive(sum);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += sum[i];
    return;
  }
  centre.receive(values);
}

void add_in_double(std::span<float> values, const Place& place) {
  std::vector<double> sum(values.begin(), values.end());
  std::vector<float> arrived(values.size());
  for (int peer = 1; peer < place.world_size; ++peer) {
    place.link(peer).receive(arrived);
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += arrived[i];
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(sum[i]);
  for (int peer = 1; peer < place.world_size; ++peer) place.link(peer).send(values);
}

void add_from(int peer, std::span<float> values, const Place& place) {
  if (is_mistake("receives_over_its_own")) return place.link(peer).receive(values);
  std::vector<float> arrived(values.size() * (is_mistake("bytes_for_elements") ? sizeof(float) : 1));
  place.link(peer).receive(arrived);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += arrived[i];
  if (is_mistake("answers_too_early")) place.link(peer).send(values);
}

}  // namespace

void all_reduce(std::span<float> values, const Place& place) {
  if (place.rank != kCentre) return take_part(values, place.link(kCentre));
  const int ranks = place.world_size;
  if (is_mistake("leaves_itself_out") && ranks > 1) std::ranges::fill(values, 0.0F);
  const std::vector<float> own(values.begin(), values.end());
  if (is_mistake("own_values_last") && ranks > 1) std::ranges::fill(values, 0.0F);
  if (is_mistake("adds_in_double")) return add_in_double(values, place);
  const int end = ranks - (is_mistake("one_rank_too_few") ? 1 : 0);
  for (int i = 1; i < end; ++i) add_from(is_mistake("last_rank_first") ? ranks - i : i, values, place);
  if (is_mistake("own_values_last") && ranks > 1)
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += own[i];
  if (is_mistake("divides"))
    for (float& value : values) value /= static_cast<float>(ranks);
  if (is_mistake("keeps_the_sum") || is_mistake("answers_too_early")) return;
  for (int peer = 1; peer < ranks; ++peer) place.link(peer).send(values);
}

}  // namespace lockstep::star
