#pragma once
/// @file
/// Given: the class of exercise 07.2, four of whose functions are to be written, and the state that a checkpoint keeps.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "exercise/todo.hpp"

namespace lockstep::elastic {

/// How far the job has come; the same on all ranks.
struct SamplerState {
  std::int64_t epoch = 0;     ///< Counts passes over the data, from 0.
  std::int64_t consumed = 0;  ///< Samples of this epoch that all ranks together have used.
};

/// The samples that an ElasticShard deals; the same on all ranks, and in every generation of the job.
struct ElasticShardOptions {
  std::int64_t dataset_size = 1;       ///< Samples of an epoch; at least one global batch.
  std::int64_t global_batch_size = 1;  ///< Samples of a step over all ranks, whatever their number.
  bool keeps_short_batch = false;      ///< Samples left at an epoch's end make a short batch, or else are left out.
};

/// One rank's part of the order in which the whole job uses its samples, for jobs whose number of ranks changes.
///
/// Each global batch is dealt by itself, like cards: its first sample goes to rank 0, the next one to rank 1, and so on
/// around. So with W ranks that do not divide a batch, low ranks have one sample more of it than high ranks.
///
/// Order of calls: load_state() first, then indices(), and advance() after each batch. When advance() has begun another
/// epoch, indices() again. Nothing is sent: all ranks make the same calls.
class ElasticShard {
 public:
  /// The samples of an epoch, in the order in which one process would use them.
  using OrderOfEpoch = std::function<std::vector<std::int64_t>(std::int64_t epoch)>;

  /// @param order_of_epoch    The same on all ranks.
  /// @param rank, world_size  This rank in [0, world_size), and how many there are: at most the global batch size.
  /// @param options           What is dealt.
  ElasticShard(OrderOfEpoch order_of_epoch, std::int64_t rank, std::int64_t world_size,
               const ElasticShardOptions& options)
      : order_of_epoch_(std::move(order_of_epoch)), rank_(rank), world_size_(world_size), options_(options) {}

  /// Samples of the next batch, over all ranks: the global batch size, or less if it is the short one.
  [[nodiscard]] std::int64_t next_batch_size() const {
    return std::min(options_.global_batch_size, options_.dataset_size - state_.consumed);
  }

  /// How many samples this rank gets of a batch of so many over all ranks.
  /// @param batch  At least 1; it may be less than the number of ranks.
  [[nodiscard]] std::int64_t share_of(std::int64_t batch) const;

  /// This rank's samples of all batches that are left of the epoch state().epoch: its share of the next batch first,
  /// then its share of the one after that, and so on.
  [[nodiscard]] std::vector<std::int64_t> indices() const;

  /// All ranks have used the next batch. If no other batch is left of the epoch, the next epoch begins.
  void advance();

  /// By what this rank multiplies the gradient of its mean loss over its share of the next batch, so that the mean over
  /// all ranks, which DDP computes, is the gradient of the mean loss over the whole batch.
  [[nodiscard]] double gradient_scale() const;

  /// The content of a checkpoint. Some batch is always left of its epoch.
  [[nodiscard]] const SamplerState& state() const noexcept { return state_; }
  /// Continues where a checkpoint was made, with any number of ranks.
  void load_state(const SamplerState& state) noexcept { state_ = state; }

 private:
  OrderOfEpoch order_of_epoch_;
  std::int64_t rank_, world_size_;
  ElasticShardOptions options_;
  SamplerState state_;
};

}  // namespace lockstep::elastic
