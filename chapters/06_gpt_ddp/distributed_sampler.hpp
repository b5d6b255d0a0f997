#pragma once
/// @file
/// Assigns samples to ranks: the epoch's order, dealt out like cards.
#include <cstdint>
#include <vector>

#include "data/sampler.hpp"

namespace lockstep::ddp {

/// Whether each epoch shuffles the samples.
enum class Shuffle { kYes, kNo };

/// The treatment of samples that cannot be dealt evenly.
enum class Remainder {
  kPad,   ///< Repeat samples from the start of the order until all ranks have the same number.
  kDrop,  ///< Leave out samples at the end of the order.
  kKeep,  ///< Neither: low ranks may get one more. For DistributedDataParallel::join().
};

/// How a DistributedSampler deals; equal on all ranks.
struct DistributedSamplerOptions {
  std::uint64_t seed = 0;  ///< Must be the same on all ranks, or they deal from different orders.
  Shuffle shuffle = Shuffle::kYes;
  Remainder remainder = Remainder::kPad;  ///< If the ranks do not divide the samples.
};

/// One rank's share of every epoch: positions rank, rank + P, rank + 2P, ... of the epoch's order, so that the k-th
/// batches of all ranks together are the k-th global batch of a single process. The shares of an epoch are disjoint
/// (except for padding) and of equal size (except with kKeep).
///
/// set_epoch(epoch) chooses the order; without it every epoch repeats the order of epoch 0, as in PyTorch. The order is
/// data::epoch_permutation(seed, epoch), not PyTorch's; dealing, padding and dropping are.
/// @source torch.utils.data.distributed.DistributedSampler, PyTorch 2.
class DistributedSampler final : public data::Sampler {
 public:
  /// @param dataset_size  Samples in the dataset, at least 1; the same on all ranks.
  /// @param rank          In [0, world_size).
  /// @throws ContractError  rank out of range, or nothing left for each rank after dropping.
  DistributedSampler(std::int64_t dataset_size, int rank, int world_size,
                     const DistributedSamplerOptions& options = {});

  [[nodiscard]] std::int64_t samples_per_epoch() const override;

 protected:
  [[nodiscard]] std::vector<std::int64_t> indices_from(std::int64_t first_position) const override;
  [[nodiscard]] int replica_count() const noexcept override { return world_size_; }
  [[nodiscard]] std::int64_t positions_per_epoch() const noexcept override {
    return positions_for(state().dataset_size);
  }

 private:
  // Number of positions for dealing that many samples to all ranks.
  [[nodiscard]] std::int64_t positions_for(std::int64_t samples) const noexcept;

  int rank_;
  int world_size_;
  DistributedSamplerOptions options_;
};

/// Every sample exactly once, in the dataset's order, dealt to the ranks: for evaluation, in which a repeated sample
/// would count twice. Low ranks may have one sample more, so ranks must not wait for each other inside the loop;
/// combine their results after it.
class EvaluationSampler final : public data::Sampler {
 public:
  /// @throws ContractError  rank out of range.
  EvaluationSampler(std::int64_t dataset_size, int rank, int world_size);

  [[nodiscard]] std::int64_t samples_per_epoch() const override;

 protected:
  [[nodiscard]] std::vector<std::int64_t> indices_from(std::int64_t first_position) const override;
  [[nodiscard]] int replica_count() const noexcept override { return world_size_; }

 private:
  int rank_;
  int world_size_;
};

}  // namespace lockstep::ddp
