#pragma once
/// @file
/// Given: a step of data parallelism in which a rank updates only its own part of each bucket, for exercise 09.2.
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "06_gpt_ddp/ladder/reducer.hpp"
#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::sharded {

using exercise::ReduceOp;
using exercise::ShardCollectives;
using exercise::Work;

/// Several parameters in two flat blocks. *Part* r of a block of `count` elements are the elements [r * count / N,
/// (r + 1) * count / N); N, the number of ranks, divides the count. Gaps between parameters hold zeros.
struct Bucket {
  std::span<float> values;     ///< [count], the same on all ranks when a step begins.
  std::span<float> gradients;  ///< [count]: backward writes them here, each rank those of its own samples.
};

/// An optimizer such as AdamW, with moments for this rank's part of each bucket and for nothing else.
class PartOptimizer {
 public:
  virtual ~PartOptimizer() = default;

  /// Updates this rank's part of one bucket, and the moments that belong to it. Once a step for each bucket.
  /// @param values, gradients  This rank's part of both blocks, [count / N].
  /// @throws ContractError  They are not of that length.
  virtual void update(std::size_t bucket, std::span<float> values, std::span<const float> gradients) = 0;
};

/// The factor by which gradients are multiplied so that their norm is at most `max_norm`; 1 if it is not above.
[[nodiscard]] inline float clip_factor(double norm, double max_norm) {
  const double factor = max_norm / (norm + 1e-6);
  return factor < 1 ? static_cast<float>(factor) : 1.0F;
}

/// A step of ZeRO, stage 1, on the buckets of chapter 06. In every step, on every rank: backward fills the buckets, and
/// as soon as one can leave, the Reducer of chapter 06 calls launch(); at the end of backward it calls wait() for every
/// bucket. Then the trainer calls finish(). Thread safety: one thread.
/// @source  Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC 2020,
///          section 5.1.
class ShardedStep final : public ddp::BucketAverager {
 public:
  /// @param buckets  Their memory, the group and the optimizer outlive this object.
  ShardedStep(std::vector<Bucket> buckets, ShardCollectives& group, PartOptimizer& optimizer)
      : buckets_(std::move(buckets)), group_(group), optimizer_(optimizer), works_(buckets_.size()) {}

  /// The bucket's gradients are complete: issues the first half of an all-reduce, and does not wait for it.
  void launch(std::size_t bucket) override;

  /// Waits for a launched bucket.
  /// @post  This rank's part of the bucket's gradients holds the means over all ranks.
  void wait(std::size_t bucket) override;

  /// After wait() of every bucket: clips the mean gradients, updates this rank's parts, and exchanges the new values.
  /// @return  The 2-norm of the mean gradients of the whole model before clipping, the same on all ranks. The squares
  ///          are added up in float64.
  /// @post    All ranks hold the same values again.
  /// @cost    Sends 4 (N-1)/N bytes for each element, and one float64.
  double finish(double max_norm);

 private:
  /// This rank's part of a bucket's values or gradients.
  [[nodiscard]] std::span<float> own_part(std::span<float> block) const {
    const std::size_t count = block.size() / static_cast<std::size_t>(group_.world_size());
    return block.subspan(static_cast<std::size_t>(group_.rank()) * count, count);
  }

  std::vector<Bucket> buckets_;
  ShardCollectives& group_;
  PartOptimizer& optimizer_;
  std::vector<Work> works_;  // by bucket
};

}  // namespace lockstep::sharded
