#include "exercise/alternatives.hpp"

#include <algorithm>

#include "06_gpt_ddp/5_overlap/reducer.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"takes_counts_down", "the counts hold how many gradients are still missing, from the second step on"},
    {"waits_backwards", "the last bucket is waited for first"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_alternative;

// In the first step the counts are zeros, as the constructor has left them: then what is missing is filled in first.
void Reducer::on_gradient_ready(std::size_t parameter) {
  if (is_alternative("takes_counts_down")) {
    if (bucket_of_.size() > 0 && next_to_launch_ == 0 &&
        std::ranges::count(ready_count_, 0) == std::ssize(ready_count_))
      for (std::size_t b = 0; b < buckets_.size(); ++b) ready_count_[b] = buckets_[b].size();
    --ready_count_.at(bucket_of_[parameter]);
    for (; next_to_launch_ < buckets_.size() && ready_count_[next_to_launch_] == 0; ++next_to_launch_)
      averager_->launch(next_to_launch_);
    return;
  }
  ready_count_.at(bucket_of_[parameter]) += 1;
  for (std::size_t b = next_to_launch_; b < buckets_.size(); ++b) {
    if (ready_count_[b] < buckets_[b].size()) break;
    averager_->launch(b);
    next_to_launch_ = b + 1;
  }
}

void Reducer::on_backward_end() {
  for (; next_to_launch_ < buckets_.size(); ++next_to_launch_) averager_->launch(next_to_launch_);
  for (std::size_t k = 0; k < buckets_.size(); ++k)
    averager_->wait(is_alternative("waits_backwards") ? buckets_.size() - 1 - k : k);
  ready_count_.assign(buckets_.size(), 0);
  next_to_launch_ = 0;
}

}  // namespace lockstep::ddp
