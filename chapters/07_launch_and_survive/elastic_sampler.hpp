#pragma once
/// @file
/// A sampler for jobs whose number of ranks changes: the global batches stay the same.
#include <cstdint>
#include <vector>

#include "06_gpt_ddp/distributed_sampler.hpp"
#include "data/sampler.hpp"

namespace lockstep::elastic {

/// Options of an ElasticSampler; equal on all ranks.
struct ElasticSamplerOptions {
  std::int64_t global_batch_size = 1;  ///< B: samples per step over all ranks, whatever their number.
  std::uint64_t seed = 0;              ///< For the epochs' orders.
  /// For the samples of an epoch that do not fill a global batch: kDrop leaves them out, kKeep makes a shorter last
  /// batch.
  ddp::Remainder remainder = ddp::Remainder::kDrop;
};

/// Deals every global batch separately: of batch k, the positions kB to kB + B - 1 of the epoch's order, rank r gets
/// kB + r, kB + r + W, and so on. The batches are therefore the same at every world size W. If W does not divide B,
/// low ranks have one sample more of each batch; if it does, the result equals ddp::DistributedSampler's.
///
/// Ranks with shares of different sizes must not have the same weight in the average of the gradients: loop with
/// ddp::DistributedDataParallel::join(). A state() can be loaded at another world size. Thread safety: one thread.
/// @source  horovod.torch.elastic.ElasticSampler has the same purpose, but deals single samples, so its global batch
///          grows and shrinks with the number of ranks.
class ElasticSampler final : public data::Sampler {
 public:
  /// @param dataset_size  Samples in the dataset, at least 1; the same on all ranks.
  /// @param rank          In [0, world_size).
  /// @param world_size    W, at most the global batch.
  /// @throws ContractError  rank out of range, a batch with fewer samples than ranks, or kPad.
  ElasticSampler(std::int64_t dataset_size, int rank, int world_size, const ElasticSamplerOptions& options);

  /// This rank's samples of a full global batch: B / W, rounded up on low ranks and down on the others. Use it as the
  /// batch size of this rank's loader.
  [[nodiscard]] std::int64_t share() const noexcept { return share_of(options_.global_batch_size); }

  [[nodiscard]] std::int64_t samples_per_epoch() const override;

  /// Counts a batch of this rank, and with it the whole global batch.
  /// @param samples_of_this_rank  Its share of the next global batch.
  void advance(std::int64_t samples_of_this_rank) override;

 protected:
  [[nodiscard]] std::vector<std::int64_t> indices_from(std::int64_t first_position) const override;
  [[nodiscard]] std::int64_t positions_per_epoch() const noexcept override;

 private:
  [[nodiscard]] std::int64_t share_of(std::int64_t batch) const noexcept;

  int rank_;
  int world_size_;
  ElasticSamplerOptions options_;
};

}  // namespace lockstep::elastic
