#pragma once
/// @file
/// A loader whose batches are dealt to ranks.
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>

#include "08_accelerate/prepared/order_shard.hpp"
#include "data/data_loader.hpp"

namespace lockstep::accelerate {

/// This rank's batches of a loader that was written for one process: `for (const data::Batch& batch : batches)`.
/// A handle: copies share one loader. Epochs are still chosen with the original sampler's set_epoch(). Batches are in
/// host memory. Lifetime: ends before the dataset and the sampler do. Thread safety: one thread.
class AcceleratedLoader {
 public:
  /// @param original  Its dataset, sampler and options are used; it is not iterated itself. Dataset and sampler outlive
  ///                  this object.
  /// @param shard     How it is dealt; batch_size and drop_last as this rank's loader is to have them.
  /// @param shared    Of the accelerator.
  /// @throws FormatError  An epoch has no batch, as data::DataLoader.
  AcceleratedLoader(const data::DataLoader& original, const ShardOptions& shard, std::shared_ptr<GradientState> shared);

  /// Starts an iteration. @throws  Whatever the dataset throws.
  [[nodiscard]] data::DataLoader::Iterator begin() { return parts_->loader.begin(); }
  /// What the iterator is compared with.
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

  /// Batches of a whole epoch: of the ranks that have most, where they differ.
  [[nodiscard]] std::int64_t batches_per_epoch() const { return parts_->shard.batches_per_epoch(); }
  /// Samples of all ranks in one batch of theirs.
  [[nodiscard]] std::int64_t total_batch_size() const noexcept { return parts_->shard.global_batch_size(); }
  /// As data::DataLoader's.
  [[nodiscard]] std::chrono::nanoseconds time_waited() const noexcept { return parts_->loader.time_waited(); }

  /// The next iteration begins behind the epoch's first `batches` batches, without loading them.
  /// @throws ContractError  Negative, or not fewer than the epoch has.
  void skip_first(std::int64_t batches);

  /// The loader of this rank's share.
  [[nodiscard]] data::DataLoader& loader() const noexcept { return parts_->loader; }
  /// The sampler of the whole job, which a checkpoint keeps.
  [[nodiscard]] data::Sampler& sampler() const noexcept { return parts_->shard.whole(); }

 private:
  struct Parts {
    Parts(const data::DataLoader& original, const ShardOptions& options, std::shared_ptr<GradientState> shared);
    OrderShard shard;
    data::DataLoader loader;
  };
  std::shared_ptr<Parts> parts_;
};

}  // namespace lockstep::accelerate
