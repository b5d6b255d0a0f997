#include <algorithm>
#include <cmath>
#include <vector>

#include "09_sharded/2_stage_one/sharded_step.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"sums", "gradients are summed over the ranks and not averaged", "Pass ReduceOp::kMean."},
    {"never_gathers", "no rank gets the values that the others have updated, so the ranks drift apart",
     "After the update, all_gather() the values of every bucket."},
    {"gathers_gradients", "the gradients are gathered after the update, not the values",
     "The others need this rank's new values; nobody needs the gradients any more."},
    {"gathers_old_values", "the all-gather sends the values from before the update, so nothing is learned",
     "The values leave with the call of all_gather(): update first, and gather from the memory that update() changed."},
    {"local_norm", "each rank clips by the norm of its own part",
     "The norm is that of the whole model: all_reduce() the sums of squares."},
    {"norm_of_whole_buckets", "squares of whole buckets are added up, of which only this rank's part holds means",
     "Add up the squares of own_part() alone: then each element counts once among all ranks."},
    {"sums_norms", "the norms of the ranks' parts are added up",
     "Add up squares over the ranks, and take the root of the sum."},
    {"averages_squares", "the sum of squares is divided by the number of ranks",
     "The ranks have different elements: their squares add up."},
    {"no_root", "the sum of squares is taken for the norm", "The norm is its root."},
    {"squares_in_float", "the squares are added up in float32, so the norm differs in its last digits",
     "Convert each gradient to double before you multiply."},
    {"never_clips", "the norm is computed and nothing is clipped, or only after the update",
     "Before the update, multiply this rank's gradients by clip_factor(norm, max_norm)."},
    {"always_scales", "gradients below the limit are made longer",
     "A factor above 1 changes nothing: clip_factor() returns 1 then."},
    {"whole_optimizer", "the optimizer gets whole buckets, not this rank's parts",
     "It has moments for this rank's part alone: pass own_part() of both blocks."},
    {"part_zero_everywhere", "every rank updates part 0", "own_part() knows which part is this rank's."},
    {"all_reduces", "whole buckets are all-reduced, which sends twice as much as the half that is needed",
     "Stage 1 splits the all-reduce: reduce_scatter() of gradients, all_gather() of values."},
    {"waits_at_once", "each bucket is waited for in launch(), so nothing overlaps", "launch() only issues."},
    {"leaves_at_the_end", "launch() issues nothing, and the buckets leave when they are waited for",
     "Issue the reduce-scatter in launch() and keep the Work for wait()."},
    {"gather_not_awaited", "finish() returns before the new values have arrived",
     "Keep the works of all all-gathers, and synchronize each before finish() returns."},
    {"norm_of_each_bucket", "each bucket is clipped by its own norm", "There is one norm, of all buckets together."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::sharded {

using exercise::is_mistake;

namespace {

double squares_of(std::span<const float> gradients) {
  double squares = 0;
  float in_float = 0;
  for (const float gradient : gradients) {
    squares += static_cast<double>(gradient) * static_cast<double>(gradient);
    in_float += gradient * gradient;
  }
  return is_mistake("squares_in_float") ? static_cast<double>(in_float) : squares;
}

double norm_over_ranks(double squares, ShardCollectives& group) {
  if (is_mistake("sums_norms")) squares = std::sqrt(squares);
  if (!is_mistake("local_norm")) group.all_reduce(std::span(&squares, 1)).synchronize();
  if (is_mistake("averages_squares")) squares /= group.world_size();
  return is_mistake("sums_norms") || is_mistake("no_root") ? squares : std::sqrt(squares);
}

}  // namespace

void ShardedStep::launch(std::size_t bucket) {
  const std::span<float> gradients = buckets_[bucket].gradients;
  if (is_mistake("leaves_at_the_end")) return;
  if (is_mistake("all_reduces")) {
    works_[bucket] = group_.all_reduce(gradients);
    return;
  }
  works_[bucket] =
      group_.reduce_scatter(own_part(gradients), gradients, is_mistake("sums") ? ReduceOp::kSum : ReduceOp::kMean);
  if (is_mistake("waits_at_once")) works_[bucket].synchronize();
}

void ShardedStep::wait(std::size_t bucket) {
  const std::span<float> gradients = buckets_[bucket].gradients;
  if (is_mistake("leaves_at_the_end"))
    works_[bucket] = group_.reduce_scatter(own_part(gradients), gradients, ReduceOp::kMean);
  works_[bucket].synchronize();
  if (!is_mistake("all_reduces")) return;
  for (float& gradient : gradients) gradient /= static_cast<float>(group_.world_size());
}

double ShardedStep::finish(double max_norm) {
  double squares = 0;
  std::vector<double> norms;  // of each bucket
  for (const Bucket& bucket : buckets_) {
    const double of_bucket =
        squares_of(is_mistake("norm_of_whole_buckets") ? bucket.gradients : own_part(bucket.gradients));
    if (is_mistake("norm_of_each_bucket")) norms.push_back(norm_over_ranks(of_bucket, group_));
    squares += of_bucket;
  }
  const double norm = is_mistake("norm_of_each_bucket") ? norms.back() : norm_over_ranks(squares, group_);
  const auto scale = [&] {
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      float factor = clip_factor(norms.empty() ? norm : norms[b], max_norm);
      if (is_mistake("always_scales")) factor = static_cast<float>(max_norm / (norm + 1e-6));
      if (is_mistake("never_clips")) factor = 1;
      for (float& gradient : own_part(buckets_[b].gradients)) gradient *= factor;
    }
  };
  std::vector<std::vector<float>> old_values;  // of this rank's parts
  for (const Bucket& bucket : buckets_) {
    const std::span<float> own = own_part(bucket.values);
    old_values.emplace_back(own.begin(), own.end());
  }
  scale();
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const Bucket& bucket = buckets_[b];
    std::span<float> values = own_part(bucket.values), gradients = own_part(bucket.gradients);
    if (is_mistake("part_zero_everywhere")) {
      values = bucket.values.first(values.size());
      gradients = bucket.gradients.first(gradients.size());
    }
    if (is_mistake("whole_optimizer")) {
      values = bucket.values;
      gradients = bucket.gradients;
    }
    optimizer_.update(b, values, gradients);
  }
  if (is_mistake("never_gathers")) return norm;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const std::span<float> all = is_mistake("gathers_gradients") ? buckets_[b].gradients : buckets_[b].values;
    // Issued before the update, the gather would race with it: the old values would arrive sooner or later than the
    // new.
    works_[b] = group_.all_gather(all, is_mistake("gathers_old_values") ? old_values[b] : own_part(all));
  }
  for (Work& work : works_)
    if (!is_mistake("gather_not_awaited")) work.synchronize();
  return norm;
}

}  // namespace lockstep::sharded
