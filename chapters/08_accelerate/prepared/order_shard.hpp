#pragma once
/// @file
/// One rank's part of any sampler's order.
#include <cstdint>
#include <memory>
#include <vector>

#include "08_accelerate/prepared/gradient_state.hpp"
#include "data/sampler.hpp"

namespace lockstep::accelerate {

/// How an order is dealt to ranks; equal on all of them but for `rank`.
struct ShardOptions {
  int rank = 0;                 ///< In [0, world_size).
  int world_size = 1;           ///< Ranks that share the order.
  std::int64_t batch_size = 1;  ///< Samples per batch on each rank.
  bool drop_last = true;        ///< Whether samples that do not fill a batch on every rank are left out.
  bool even_batches = true;     ///< Without drop_last: whether samples are repeated until all ranks have as many.
};

/// Deals the order of a sampler that was written for one process: this rank gets positions rank, rank + P, rank + 2P,
/// ... of it, so that the k-th batches of all ranks together are the k-th batch of one process. Repeated samples come
/// from the start of the epoch's order.
///
/// Epoch and position stay in the wrapped sampler, which counts the samples of all ranks: it is what set_epoch() and a
/// checkpoint's state belong to, and its state does not depend on the number of ranks.
/// @source accelerate.data_loader.BatchSamplerShard, which deals whole batches.
class OrderShard final : public data::Sampler {
 public:
  /// @param whole   Yields the whole order; outlives this object.
  /// @param shared  Told which loader is iterated.
  /// @throws ContractError  rank, world_size or batch_size out of range.
  OrderShard(data::Sampler& whole, const ShardOptions& options, std::shared_ptr<GradientState> shared);
  ~OrderShard() override;

  [[nodiscard]] std::vector<std::int64_t> begin_iteration() override;
  /// Also for a batch that other ranks have and this one has not: of 0 samples.
  void advance(std::int64_t samples_of_this_rank) override;
  [[nodiscard]] std::int64_t samples_per_epoch() const override;

  /// Numbers the running iteration: how often begin_iteration() has been called.
  [[nodiscard]] std::int64_t iteration() const noexcept { return iteration_; }
  /// The iteration has come to its end, or its loop has been left. Nothing happens if a later one has begun.
  void end_iteration(std::int64_t iteration) noexcept;

  /// Batches of a whole epoch: of the ranks that have most, where they differ.
  [[nodiscard]] std::int64_t batches_per_epoch() const;
  /// The sampler whose order is dealt.
  [[nodiscard]] data::Sampler& whole() const noexcept { return whole_; }
  /// As given.
  [[nodiscard]] const ShardOptions& options() const noexcept { return options_; }
  /// Samples of all ranks in a batch of theirs.
  [[nodiscard]] std::int64_t global_batch_size() const noexcept { return options_.batch_size * options_.world_size; }

  /// Whether the batch handed out last is the iteration's last one.
  [[nodiscard]] bool is_at_end() const noexcept { return handed_out_ * global_batch_size() >= dealt_; }
  /// Of the batch handed out last: positions of the order that all ranks have together, without repeated ones.
  [[nodiscard]] std::int64_t real_samples() const noexcept;
  /// Of the batch handed out last: how many samples rank `rank` has, repeated ones included.
  [[nodiscard]] std::int64_t samples_of(int rank) const noexcept;

 protected:
  [[nodiscard]] std::vector<std::int64_t> indices_from(std::int64_t first_position) const override;

 private:
  // Positions that are dealt of that many samples: fewer with drop_last, more with even_batches.
  [[nodiscard]] std::int64_t positions_for(std::int64_t samples) const noexcept;
  // Of the batch handed out last: its share of `positions`.
  [[nodiscard]] std::int64_t of_current_batch(std::int64_t positions) const noexcept;
  [[nodiscard]] std::vector<std::int64_t> head_of_epoch();

  data::Sampler& whole_;
  ShardOptions options_;
  std::shared_ptr<GradientState> shared_;
  std::int64_t samples_ = 0;     // of the running iteration, over all ranks
  std::int64_t dealt_ = 0;       // positions of the running iteration, over all ranks
  std::int64_t handed_out_ = 0;  // batches of the running iteration
  std::int64_t iteration_ = 0;   // that is running, from 1
};

}  // namespace lockstep::accelerate
