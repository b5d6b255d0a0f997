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
     "Every message pays its own alpha, and the messages follow one another."},
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
  const auto seconds = [&](int messages, double message_bytes) {
    const int latencies = is_mistake("one_latency") && messages > 0 ? 1 : messages;
    return latencies * label.alpha_us * 1e-6 + messages * message_bytes / budget.bytes_per_second;
  };
  const int messages = 2 * (world_size - 1);
  const int ring_messages = is_mistake("half_of_the_ring") ? world_size - 1 : messages;
  budget.ring_bytes = ring_messages * bytes / world_size;
  if (is_mistake("buffer_crosses_once")) budget.ring_bytes = world_size == 1 ? 0 : bytes;
  const double message_bytes = ring_messages == 0 ? 0 : budget.ring_bytes / ring_messages;
  budget.ring_seconds = seconds(ring_messages, is_mistake("both_ways_in_turn") ? 2 * message_bytes : message_bytes);
  budget.star_seconds = seconds(is_mistake("star_inward_only") ? world_size - 1 : messages, bytes);
  const double share = computing_seconds / (computing_seconds + budget.ring_seconds);
  budget.efficiency = is_mistake("share_of_communication") ? 1 - share : share;
  return budget;
}

}  // namespace lockstep::plan
