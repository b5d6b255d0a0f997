#pragma once
/// @file
/// One rank's part of any sampler's order.
#include <cstdint>
#include <memory>
#include <vector>

#include "08_accelerate/prepared/gradient_state.hpp"
#include "data/sampler.hpp"

namespace lockstep::accelerate {

/// How to deal an order to ranks; all but `rank` are equal on all ranks.
struct ShardOptions {
  int rank = 0;  ///< In [0, world_size).
  int world_size = 1;
  std::int64_t batch_size = 1;  ///< Samples per batch on each rank.
  bool drop_last = true;        ///< Whether samples that do not fill a batch on every rank are left out.
  bool even_batches = true;     ///< Without drop_last: whether samples are repeated until all ranks have equally many.
};

/// Deals the order of a sampler that was written for one process: this rank gets positions rank, rank + P, rank + 2P,
/// ... of it, so that the k-th batches of all ranks together are the k-th batch of one process. Repeated samples come
/// from the start of the epoch's order.
///
/// Epoch and position stay in the wrapped sampler, which counts the samples of all ranks. set_epoch() and a
/// checkpoint's state apply to it, and its state does not depend on the number of ranks.
/// @source accelerate.data_loader.BatchSamplerShard, which deals whole batches.
class OrderShard final : public data::Sampler {
 public:
  /// @param whole   Yields the whole order; outlives this object.
  /// @param shared  Learns which loader is iterated.
  /// @throws ContractError  rank, world_size or batch_size out of range.
  OrderShard(data::Sampler& whole, const ShardOptions& options, std::shared_ptr<GradientState> shared);
  ~OrderShard() override;

  [[nodiscard]] std::vector<std::int64_t> begin_iteration() override;
  /// Call it also for a batch of which this rank has 0 samples and others have some.
  void advance(std::int64_t samples_of_this_rank) override;
  [[nodiscard]] std::int64_t samples_per_epoch() const override;

  /// Number of the current iteration: counts calls of begin_iteration().
  [[nodiscard]] std::int64_t iteration() const noexcept { return iteration_; }
  /// Call when the iteration has ended or its loop has been left. Does nothing if a later one has begun.
  void end_iteration(std::int64_t iteration) noexcept;

  /// Batches of a whole epoch: the most of any rank.
  [[nodiscard]] std::int64_t batches_per_epoch() const;
  /// The sampler whose order is dealt.
  [[nodiscard]] data::Sampler& whole() const noexcept { return whole_; }
  [[nodiscard]] const ShardOptions& options() const noexcept { return options_; }
  /// Samples per batch over all ranks.
  [[nodiscard]] std::int64_t global_batch_size() const noexcept { return options_.batch_size * options_.world_size; }

  /// Whether the batch handed out last is the iteration's last one.
  [[nodiscard]] bool is_at_end() const noexcept { return handed_out_ * global_batch_size() >= dealt_; }
  /// In the last batch handed out: positions of the order over all ranks, without repeated ones.
  [[nodiscard]] std::int64_t real_samples() const noexcept;
  /// In the last batch handed out: the number of rank `rank`'s samples, including repeated ones.
  [[nodiscard]] std::int64_t samples_of(int rank) const noexcept;

 protected:
  [[nodiscard]] std::vector<std::int64_t> indices_from(std::int64_t first_position) const override;

 private:
  // Positions dealt for that many samples: fewer with drop_last, more with even_batches.
  [[nodiscard]] std::int64_t positions_for(std::int64_t samples) const noexcept;
  // The share of the last batch handed out in `positions`.
  [[nodiscard]] std::int64_t of_current_batch(std::int64_t positions) const noexcept;
  [[nodiscard]] std::vector<std::int64_t> head_of_epoch();

  data::Sampler& whole_;
  ShardOptions options_;
  std::shared_ptr<GradientState> shared_;
  std::int64_t samples_ = 0;     // of the current iteration, over all ranks
  std::int64_t dealt_ = 0;       // positions of the current iteration, over all ranks
  std::int64_t handed_out_ = 0;  // batches of the current iteration
  std::int64_t iteration_ = 0;   // the current one, from 1
};

}  // namespace lockstep::accelerate
