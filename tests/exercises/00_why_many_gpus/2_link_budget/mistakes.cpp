#include "00_why_many_gpus/2_link_budget/link_budget.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"bits_as_bytes", "gigabits are taken for gigabytes", "10 Gbit/s carry 1.25 GB/s: a byte has 8 bits."},
    {"label_as_one_way", "a label that counts both directions is used as the bandwidth of one",
     "Half of such a label is left for sending; the other half is for receiving."},
    {"buffer_crosses_once", "the ring is counted as if the buffer crossed the link once",
     "That is the envelope's estimate. A rank sends a chunk in each of 2 (P-1) steps."},
    {"half_of_the_ring", "only the first half of the ring is counted: adding up, but not distributing the sum",
     "After P - 1 steps each rank has one finished chunk. How do the others get it?"},
    {"one_latency", "the latency is counted once for the whole collective",
     "Every step pays its own alpha, and the steps follow one another."},
    {"star_waits_for_each", "the star pays a latency for each of its messages",
     "They start together, so their latencies overlap: all of them in, one alpha; all of them out, another."},
    {"star_shares_nothing", "the star's buffers pass the centre's link at the same time, each at full speed",
     "The centre has one link. The bytes of P - 1 buffers must pass it in each direction."},
    {"both_ways_in_turn", "the ring's bytes are counted twice: once for sending, once for receiving",
     "Links are full duplex: a rank receives its chunk while it sends the other one."},
    {"star_inward_only", "the star's centre receives all buffers, but does not send the sum back",
     "The centre's port is busy P - 1 times in each direction, one after the other."},
    {"share_of_communication", "the efficiency is communication's share of the step instead of computing's",
     "The two shares add up to 1."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::plan {

using exercise::is_mistake;

LinkBudget link_budget(const LinkLabel& label, double bytes, int world_size, double computing_seconds) {
  LinkBudget budget;
  budget.bytes_per_second = label.rate * 1e9;
  if (label.unit == RateUnit::kGigabits && !is_mistake("bits_as_bytes")) budget.bytes_per_second /= 8;
  if (label.counted == Directions::kBothWays && !is_mistake("label_as_one_way")) budget.bytes_per_second /= 2;
  const auto seconds = [&](int steps, double all_bytes) {
    const int latencies = is_mistake("one_latency") && steps > 0 ? 1 : steps;
    return latencies * label.alpha_us * 1e-6 + all_bytes / budget.bytes_per_second;
  };
  const int others = world_size - 1;
  const int ring_steps = is_mistake("half_of_the_ring") ? others : 2 * others;
  budget.ring_bytes = ring_steps * bytes / world_size;
  if (is_mistake("buffer_crosses_once")) budget.ring_bytes = world_size == 1 ? 0 : bytes;
  budget.ring_seconds =
      seconds(ring_steps, is_mistake("both_ways_in_turn") ? 2 * budget.ring_bytes : budget.ring_bytes);
  const int star_steps = (others == 0 ? 0 : is_mistake("star_inward_only") ? 1 : 2);
  const double step_bytes = is_mistake("star_shares_nothing") ? bytes : others * bytes;
  budget.star_seconds = seconds(star_steps * (is_mistake("star_waits_for_each") ? others : 1), star_steps * step_bytes);
  const double share = computing_seconds / (computing_seconds + budget.ring_seconds);
  budget.efficiency = is_mistake("share_of_communication") ? 1 - share : share;
  return budget;
}

}  // namespace lockstep::plan
