#include <algorithm>

#include "06_gpt_ddp/5_overlap/reducer.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"launches_when_complete", "a bucket is launched as soon as it is complete, even if one before it has not left",
     "Another rank may complete them in another order. Look at the bucket at next_to_launch_ only."},
    {"launches_at_the_end", "no bucket is launched before backward has ended",
     "Look for complete buckets in on_gradient_ready() already."},
    {"waits_at_once", "each bucket is waited for right after its launch, so nothing overlaps",
     "Keep the Work in in_flight_, and call synchronize() in on_backward_end()."},
    {"launches_one_only", "a call launches one bucket at most, though the ones after it are complete too",
     "When the bucket that all waited for leaves, how many can follow? Use a loop."},
    {"reads_past_the_end", "the loop over complete buckets does not stop behind the last one",
     "When the last bucket has left, there is no other to look at: while (next_to_launch_ < buckets_.size() && ...)."},
    {"forgets_the_rest", "buckets with a parameter that got no gradient are never launched",
     "At the end of backward launch whatever has not left: missing gradients are zeros."},
    {"forgets_to_reset", "the counts of ready gradients are not set back, so in the next step buckets leave too early",
     "Which members belong to the running step? on_backward_end() puts them back to their first values."},
    {"launches_with_the_first", "a bucket leaves when the first of its gradients is ready instead of the last",
     "Compare the ready count with the number of parameters in the bucket."},
    {"divides_too_early",
     "the sum is not divided by the number of ranks, or it is before synchronize(), which overwrites the quotient",
     "Wait for the bucket, then divide all its values by world_size()."},
    {"never_cleared", "the list of works is never cleared, so it grows with every step",
     "in_flight_ belongs to the running step: clear it when all works are done."},
    {"indexes_old_works", "the list of works is never cleared, so its first entries are those of the first step",
     "in_flight_[b] is a work of the first step then, which is done. Clear the list when all are."},
    {"keeps_place", "next_to_launch_ is not set back, so no bucket is launched after the first step",
     "Which members belong to the running step? on_backward_end() puts them back to their first values."},
    {"waits_for_the_last", "only the last bucket is waited for", "Call synchronize() on every Work."},
    {"counts_go_on", "the counts of ready gradients are not set back, so no bucket is found complete any more",
     "In the second step the counts begin where the first one ended: fill them with zeros."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_mistake;

void Reducer::on_gradient_ready(std::size_t parameter) {
  const std::size_t own = bucket_of_[parameter];
  ++ready_count_[own];
  if (is_mistake("launches_at_the_end")) return;
  if (is_mistake("launches_when_complete")) {
    if (ready_count_[own] != buckets_[own].parameters.size()) return;
    in_flight_.resize(buckets_.size());
    in_flight_[own] = group_.all_reduce(buckets_[own].gradients);
    return;
  }
  while (next_to_launch_ < buckets_.size() || is_mistake("reads_past_the_end")) {
    const GradientBucket& bucket = buckets_[next_to_launch_];
    const std::size_t needed = is_mistake("launches_with_the_first") ? 1 : bucket.parameters.size();
    if (is_mistake("counts_go_on") ? ready_count_[next_to_launch_] != needed : ready_count_[next_to_launch_] < needed)
      return;
    in_flight_.push_back(group_.all_reduce(bucket.gradients));
    if (is_mistake("waits_at_once")) in_flight_.back().synchronize();
    ++next_to_launch_;
    if (is_mistake("launches_one_only")) return;
  }
}

void Reducer::on_backward_end() {
  if (is_mistake("launches_when_complete")) {
    in_flight_.resize(buckets_.size());
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      if (ready_count_[b] < buckets_[b].parameters.size()) in_flight_[b] = group_.all_reduce(buckets_[b].gradients);
  } else if (!is_mistake("forgets_the_rest")) {
    while (next_to_launch_ < buckets_.size())
      in_flight_.push_back(group_.all_reduce(buckets_[next_to_launch_++].gradients));
  }
  const auto ranks = static_cast<float>(group_.world_size());
  const bool keeps_list = is_mistake("never_cleared") || is_mistake("indexes_old_works");
  const std::size_t old = is_mistake("never_cleared") ? in_flight_.size() - buckets_.size() : 0;
  for (std::size_t b = 0; b < std::min(in_flight_.size(), buckets_.size()); ++b) {
    const bool waits = !is_mistake("waits_for_the_last") || b + 1 == buckets_.size();
    if (waits && !is_mistake("divides_too_early")) in_flight_[old + b].synchronize();
    if (is_mistake("waits_for_the_last")) in_flight_.back().synchronize();
    for (float& value : buckets_[b].gradients) value /= ranks;
    if (waits) in_flight_[old + b].synchronize();
  }
  if (!keeps_list) in_flight_.clear();
  if (!is_mistake("keeps_place")) next_to_launch_ = 0;
  if (!is_mistake("forgets_to_reset") && !is_mistake("counts_go_on")) std::ranges::fill(ready_count_, std::size_t{0});
}

}  // namespace lockstep::ddp
