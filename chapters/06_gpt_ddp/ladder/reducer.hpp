#pragma once
/// @file
/// The second rung of data parallelism: averages gradients in buckets, while backward still computes.
#include <cstddef>
#include <utility>
#include <vector>

namespace lockstep::ddp {

/// Averages buckets over all ranks.
class BucketAverager {
 public:
  virtual ~BucketAverager() = default;

  /// Issues the averaging of a bucket, and returns at once. Collectives are matched by their order: all ranks launch
  /// the same buckets in the same order. The elements leave with this call: later writes to them are lost.
  virtual void launch(std::size_t bucket) = 0;

  /// Waits until a launched bucket holds the means.
  virtual void wait(std::size_t bucket) = 0;
};

/// Averages the gradients of a backward pass over all ranks, bucket by bucket, while the pass is still running. A
/// *bucket* is a block of memory in which the gradients of several parameters lie; backward writes them there directly.
///
/// In every step, on every rank: backward calls on_gradient_ready() once for each parameter that has a gradient, as
/// soon as the gradient is in its bucket, and on_backward_end() at the end. The order of the parameters may differ from
/// rank to rank and from step to step. Thread safety: one thread.
/// @source  Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 13(12), 2020,
///          section 3.2.3.
class Reducer {
 public:
  /// @param buckets   For each bucket, the parameters that it waits for. Buckets leave in this order, the same on all
  ///                  ranks. A parameter is in at most one bucket.
  /// @param averager  Outlives this object.
  Reducer(std::vector<std::vector<std::size_t>> buckets, BucketAverager& averager)
      : buckets_(std::move(buckets)), averager_(&averager), ready_count_(buckets_.size()) {
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      for (const std::size_t parameter : buckets_[b]) {
        if (bucket_of_.size() <= parameter) bucket_of_.resize(parameter + 1);
        bucket_of_[parameter] = b;
      }
    }
  }

  /// Call when a parameter's gradient is in its bucket and final. Launches every bucket that can leave now: its
  /// gradients are all ready, and all earlier buckets have left. Waits for none of them.
  void on_gradient_ready(std::size_t parameter);

  /// Call at the end of backward. Launches the buckets that have not left yet because a parameter has no gradient in
  /// this step, then waits for all buckets.
  /// @post  All buckets hold means over all ranks, and the next step may begin.
  void on_backward_end();

 private:
  std::vector<std::vector<std::size_t>> buckets_;
  BucketAverager* averager_;
  std::vector<std::size_t> bucket_of_;  // by parameter

  // In the current step.
  std::vector<std::size_t> ready_count_;  // by bucket: how many of its gradients are ready
  std::size_t next_to_launch_ = 0;        // all buckets before this one have left
};

}  // namespace lockstep::ddp
