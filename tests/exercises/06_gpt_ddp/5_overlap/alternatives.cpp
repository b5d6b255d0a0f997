#include "exercise/alternatives.hpp"

#include <algorithm>

#include "06_gpt_ddp/5_overlap/reducer.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"marks_by_bucket",
     "works lie at the numbers of their buckets, in a list that is as long as there are buckets and is never shorter"},
    {"waits_backwards", "the last bucket is waited for first, and each is divided when it is there"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_alternative;

void Reducer::on_gradient_ready(std::size_t parameter) {
  ready_count_.at(bucket_of_[parameter]) += 1;
  in_flight_.resize(buckets_.size());
  for (std::size_t b = next_to_launch_; b < buckets_.size(); ++b) {
    if (ready_count_[b] < buckets_[b].parameters.size()) break;
    in_flight_[b] = group_.all_reduce(buckets_[b].gradients);
    next_to_launch_ = b + 1;
  }
}

void Reducer::on_backward_end() {
  in_flight_.resize(buckets_.size());
  for (; next_to_launch_ < buckets_.size(); ++next_to_launch_)
    in_flight_[next_to_launch_] = group_.all_reduce(buckets_[next_to_launch_].gradients);
  const auto ranks = static_cast<float>(group_.world_size());
  for (std::size_t k = 0; k < buckets_.size(); ++k) {
    const std::size_t b = is_alternative("waits_backwards") ? buckets_.size() - 1 - k : k;
    in_flight_[b].synchronize();
    std::ranges::transform(buckets_[b].gradients, buckets_[b].gradients.begin(),
                           [&](float sum) { return sum / ranks; });
  }
  if (is_alternative("waits_backwards")) in_flight_ = {};
  ready_count_.assign(buckets_.size(), 0);
  next_to_launch_ = 0;
}

}  // namespace lockstep::ddp
