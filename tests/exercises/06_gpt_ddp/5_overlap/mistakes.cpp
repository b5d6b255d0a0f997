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
     "Only launch in on_gradient_ready(); call wait() in on_backward_end()."},
    {"launches_one_only", "a call launches one bucket at most, though the ones after it are complete too",
     "When the bucket that all waited for leaves, how many can follow? Use a loop."},
    {"reads_past_the_end", "the loop over complete buckets does not stop after the last one",
     "When the last bucket has left, there is no other to look at: while (next_to_launch_ < buckets_.size() && ...)."},
    {"forgets_the_rest", "buckets with a parameter that got no gradient are never launched",
     "At the end of backward launch whatever has not left: missing gradients are zeros."},
    {"forgets_to_reset", "the counts of ready gradients are not set back, so in the next step buckets leave too early",
     "Which members belong to the running step? on_backward_end() puts them back to their first values."},
    {"resets_what_left", "the count of a bucket is set back when it leaves complete, and that of the rest goes on",
     "A bucket with a missing gradient leaves at the end, and its count has to begin anew, too."},
    {"launches_with_the_first", "a bucket leaves when the first of its gradients is ready instead of the last",
     "Compare the ready count with the number of parameters in the bucket."},
    {"launches_again", "at the end of backward all buckets are launched, those too that have left before",
     "Go on where on_gradient_ready() has stopped: from next_to_launch_ to the end."},
    {"keeps_place", "next_to_launch_ is not set back, so no bucket is launched after the first step",
     "Which members belong to the running step? on_backward_end() puts them back to their first values."},
    {"waits_for_the_last", "only the last bucket is waited for", "Call wait() for every bucket."},
    {"waits_for_the_rest", "only the buckets that were launched at the end are waited for",
     "Those that left during backward are still under way: call wait() for every bucket."},
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
    if (ready_count_[own] == buckets_[own].size()) averager_->launch(own);
    return;
  }
  while (next_to_launch_ < buckets_.size() || is_mistake("reads_past_the_end")) {
    const std::vector<std::size_t>& bucket = buckets_[next_to_launch_];
    const std::size_t needed = is_mistake("launches_with_the_first") ? 1 : bucket.size();
    if (is_mistake("counts_go_on") ? ready_count_[next_to_launch_] != needed : ready_count_[next_to_launch_] < needed)
      return;
    averager_->launch(next_to_launch_);
    if (is_mistake("waits_at_once")) averager_->wait(next_to_launch_);
    if (is_mistake("resets_what_left")) ready_count_[next_to_launch_] = 0;
    ++next_to_launch_;
    if (is_mistake("launches_one_only")) return;
  }
}

void Reducer::on_backward_end() {
  if (is_mistake("launches_when_complete")) {
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      if (ready_count_[b] < buckets_[b].size()) averager_->launch(b);
    next_to_launch_ = buckets_.size();
  }
  if (is_mistake("launches_again")) next_to_launch_ = 0;
  const std::size_t launched = next_to_launch_;
  while (next_to_launch_ < buckets_.size() && !is_mistake("forgets_the_rest")) averager_->launch(next_to_launch_++);
  for (std::size_t b = is_mistake("waits_for_the_last") ? buckets_.size() - 1 : 0; b < next_to_launch_; ++b) {
    if (is_mistake("waits_for_the_rest") && b < launched) continue;
    averager_->wait(b);
  }
  if (!is_mistake("keeps_place")) next_to_launch_ = 0;
  const bool goes_on = is_mistake("forgets_to_reset") || is_mistake("counts_go_on") || is_mistake("resets_what_left");
  if (!goes_on) std::ranges::fill(ready_count_, std::size_t{0});
}

}  // namespace lockstep::ddp
