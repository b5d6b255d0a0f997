#pragma once
/// @file
/// Given: the class of exercise 06.5. Its two functions are to be written; its members and its constructor are there.
#include <span>
#include <utility>
#include <vector>

#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::ddp {

using exercise::Collectives;
using exercise::Work;

/// One bucket: the parameters whose gradients lie in one block of memory. Backward writes them there directly.
struct GradientBucket {
  std::vector<std::size_t> parameters;  ///< Indices of parameters, each at least once in exactly one bucket.
  std::span<float> gradients;           ///< [count], all gradients of the bucket; the same count on all ranks.
};

/// Averages the gradients of a backward pass over all ranks, bucket by bucket, while the pass is still running.
///
/// In every step, on every rank: zeros in all buckets, then backward, which calls on_gradient_ready() once for each
/// parameter that has a gradient, as soon as this is in its bucket, and on_backward_end() at the end. The order of the
/// parameters may differ from rank to rank and from step to step. Thread safety: one thread.
class Reducer {
 public:
  /// @param buckets  In the order in which they are to leave: the same on all ranks. @param group  Outlives this
  /// object.
  Reducer(std::vector<GradientBucket> buckets, Collectives& group)
      : buckets_(std::move(buckets)), group_(group), ready_count_(buckets_.size()) {
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      for (const std::size_t parameter : buckets_[b].parameters) {
        if (bucket_of_.size() <= parameter) bucket_of_.resize(parameter + 1);
        bucket_of_[parameter] = b;
      }
    }
  }

  /// The gradient of a parameter is in its bucket and will not change any more. Launches (issues the all-reduce of)
  /// every bucket that can leave now: one whose gradients are all ready, and before which all other buckets have left.
  /// Does not wait for any of them.
  void on_gradient_ready(std::size_t parameter);

  /// Backward has ended. Launches what has not left yet: a parameter without a gradient is zeros in its bucket. Then
  /// waits for all buckets.
  /// @post  All buckets hold the means over all ranks, and the next step may begin.
  void on_backward_end();

 private:
  std::vector<GradientBucket> buckets_;
  Collectives& group_;
  std::vector<std::size_t> bucket_of_;  // by parameter

  // Of the running step.
  std::vector<std::size_t> ready_count_;  // by bucket: how many of its gradients are ready
  std::size_t next_to_launch_ = 0;        // all buckets before this one have left
  std::vector<Work> in_flight_;           // of the buckets that have left, in their order
};

}  // namespace lockstep::ddp
