#include <algorithm>

#include "02_ring_all_reduce/3_chain_broadcast/chain_broadcast.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"receives_everything_first", "a rank receives all segments before it passes on the first one",
     "Then the next link is idle all this time. Send a segment as soon as it has arrived."},
    {"one_segment_behind", "a rank passes a segment on when it has received the one after it",
     "Between two calls of receive() there should be one of send()."},
    {"drops_the_last_segment", "values after the last whole segment are not sent",
     "10 values in segments of 4 are three segments: 4, 4 and 2."},
    {"closes_the_circle", "the last rank of the chain sends the values on to the root",
     "The root has them already. Which rank is the last one?"},
    {"ends_at_the_highest_rank", "the highest rank is taken for the end of the chain, whatever the root",
     "The chain goes once round: it ends at the rank before the root, next_of(rank, world_size) == root."},
    {"last_segment_too_long", "the last segment is taken to be as long as the others, beyond the end of the values",
     "It holds what is left: std::min(segment_count, values.size() - begin)."},
    {"root_receives_too", "the root waits for the first segment like all other ranks",
     "The root has the values; its previous rank is the end of the chain and sends nothing."},
    {"root_is_rank_0", "rank 0 is taken for the root", "Every rank may be the root; the chain begins there."},
    {"one_message", "the values travel in one message, whatever the segment size",
     "The root sends one message for each segment."},
    {"sends_before_it_receives", "a rank passes on what its buffer held before the segment arrived",
     "Receive the segment first, then send it, then go on to the next one."},
    {"number_for_length", "segment_count is taken for the number of segments",
     "It is the number of elements of a segment: 10 values in segments of 4 are three segments."},
    {"steps_round_down", "the steps are counted without the last, shorter segment",
     "10 values in segments of 4 are three segments: round up."},
    {"steps_always_one_more", "the segments are counted as count / segment_count + 1, even if nothing is left over",
     "8 values in segments of 4 are two segments: (count + segment_count - 1) / segment_count."},
    {"steps_of_nothing", "steps are counted if there are no values",
     "Without values there are no messages: the answer is 0."},
    {"steps_without_pipeline", "the steps are counted as if each rank received everything before it sends",
     "With segments all links work at the same time. When does the last segment leave the root?"},
    {"one_step_too_many", "the root's own message is counted twice",
     "2 ranks and 1 segment take 1 step. What does your formula say?"},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ring {
namespace {

using exercise::is_mistake;

// In two halves, each with a loop of its own.
template <typename Function>
void for_each_segment(std::span<float> values, std::int64_t segment_count, const Function& function) {
  const auto total = static_cast<std::int64_t>(values.size());
  const std::int64_t end = is_mistake("drops_the_last_segment") ? total - segment_count + 1 : total;
  for (std::int64_t begin = 0; begin < end; begin += segment_count)
    function(values.subspan(
        begin, is_mistake("last_segment_too_long") ? segment_count : std::min(segment_count, total - begin)));
}

}  // namespace

void broadcast(std::span<float> values, int root, std::int64_t segment_count, const Neighbours& place) {
  if (place.world_size == 1) return;
  if (is_mistake("root_is_rank_0")) root = 0;
  if (is_mistake("one_message")) segment_count = std::max<std::int64_t>(1, static_cast<std::int64_t>(values.size()));
  if (is_mistake("number_for_length"))
    segment_count = (static_cast<std::int64_t>(values.size()) + segment_count - 1) / segment_count;
  const bool is_root = place.rank == root && !is_mistake("root_receives_too");
  const int last = is_mistake("ends_at_the_highest_rank") ? place.world_size - 1 : previous_of(root, place.world_size);
  const bool is_last = place.rank == last && !is_mistake("closes_the_circle");
  if (is_mistake("receives_everything_first") && !is_root) {
    for_each_segment(values, segment_count, [&](std::span<float> segment) { place.previous.receive(segment); });
    if (!is_last) for_each_segment(values, segment_count, [&](std::span<float> segment) { place.next.send(segment); });
    return;
  }
  const bool is_late = is_mistake("one_segment_behind") && !is_root;
  std::span<float> before;
  for_each_segment(values, segment_count, [&](std::span<float> segment) {
    const bool is_early = is_mistake("sends_before_it_receives");
    if (is_early && !is_last) place.next.send(segment);
    if (!is_root) place.previous.receive(segment);
    if (is_early) return;
    if (is_late) std::swap(before, segment);
    if (!is_last && !segment.empty()) place.next.send(segment);
  });
  if (is_late && !is_last && !before.empty()) place.next.send(before);
}

std::int64_t chain_steps(std::int64_t count, std::int64_t segment_count, int world_size) {
  if ((count == 0 && !is_mistake("steps_of_nothing")) || world_size == 1) return 0;
  std::int64_t segments = (count + segment_count - 1) / segment_count;
  if (is_mistake("steps_round_down")) segments = count / segment_count;
  if (is_mistake("steps_always_one_more")) segments = count / segment_count + 1;
  if (is_mistake("steps_without_pipeline")) return segments * (world_size - 1);
  return segments + world_size - (is_mistake("one_step_too_many") ? 1 : 2);
}

}  // namespace lockstep::ring
