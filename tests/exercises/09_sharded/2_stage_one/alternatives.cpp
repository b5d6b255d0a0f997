#include "exercise/alternatives.hpp"

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "09_sharded/2_stage_one/sharded_step.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"updates_then_gathers",
     "first all buckets are clipped, then all updated from the last to the first, then gathered"},
    {"mean_by_hand", "gradients are reduced with kSum and divided in wait(), and the norm begins with the last bucket"},
    {"updates_copies",
     "the optimizer gets copies of this rank's parts, and the all-gather sends the new values from there"},
    {"alone_sends_nothing", "one rank by itself issues no collective"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::sharded {

using exercise::is_alternative;

namespace {
bool sends(const ShardCollectives& group) { return group.world_size() > 1 || !is_alternative("alone_sends_nothing"); }
}  // namespace

void ShardedStep::launch(std::size_t bucket) {
  if (!sends(group_)) return;
  const Bucket& block = buckets_.at(bucket);
  works_.at(bucket) = group_.reduce_scatter(own_part(block.gradients), block.gradients,
                                            is_alternative("mean_by_hand") ? ReduceOp::kSum : ReduceOp::kMean);
}

void ShardedStep::wait(std::size_t bucket) {
  works_.at(bucket).synchronize();
  if (!is_alternative("mean_by_hand")) return;
  for (float& gradient : own_part(buckets_.at(bucket).gradients)) gradient /= static_cast<float>(group_.world_size());
}

double ShardedStep::finish(double max_norm) {
  double squares[1] = {};
  for (auto bucket = buckets_.rbegin(); bucket != buckets_.rend(); ++bucket) {
    const std::span<float> own = own_part(bucket->gradients);
    squares[0] += std::transform_reduce(own.begin(), own.end(), 0.0, std::plus<>(),
                                        [](double gradient) { return gradient * gradient; });
  }
  if (sends(group_)) group_.all_reduce(std::span<double>(squares)).synchronize();
  const double norm = std::sqrt(squares[0]);
  if (is_alternative("updates_copies")) {
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      const std::span<float> own_values = own_part(buckets_[b].values), own = own_part(buckets_[b].gradients);
      std::vector<float> values(own_values.begin(), own_values.end()), gradients(own.begin(), own.end());
      for (float& gradient : gradients) gradient *= clip_factor(norm, max_norm);
      optimizer_.update(b, values, gradients);
      group_.all_gather(buckets_[b].values, values).synchronize();
    }
    return norm;
  }
  for (const Bucket& bucket : buckets_) {
    for (float& gradient : own_part(bucket.gradients))
      if (norm + 1e-6 > max_norm) gradient *= clip_factor(norm, max_norm);
  }
  for (std::size_t left = buckets_.size(); left > 0; --left)
    optimizer_.update(left - 1, own_part(buckets_[left - 1].values), own_part(buckets_[left - 1].gradients));
  if (!sends(group_)) return norm;
  for (const Bucket& bucket : buckets_) group_.all_gather(bucket.values, own_part(bucket.values)).synchronize();
  return norm;
}

}  // namespace lockstep::sharded
