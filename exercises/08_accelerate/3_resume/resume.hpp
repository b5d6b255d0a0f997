#pragma once
/// @file
/// Given: the class of exercise 08.3, three of whose functions are to be written, and the state that a checkpoint
/// keeps.
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "exercise/todo.hpp"

namespace lockstep::accelerate {

/// How far training has come; the same on all ranks.
struct SamplerState {
  std::int64_t epoch = 0;     ///< Counts passes over the data, from 0.
  std::int64_t consumed = 0;  ///< Samples of this epoch that have been used, by all ranks together.
};

/// One rank's part of the order in which the whole job uses its samples.
///
/// A batch of the job is the next total_batch_size samples of the epoch's order. With P ranks, rank r gets its
/// positions r, r + P, r + 2P and so on. Samples at the end of an epoch that do not fill a batch are left out.
///
/// Order of calls: begin_iteration(), then advance() after each batch, and again for the next epoch. load_state() and
/// skip_first_batches() come before begin_iteration(). Nothing is sent: all ranks make the same calls.
class ResumableShard {
 public:
  /// The samples of an epoch, in the order in which one process would use them: of equal length in all epochs.
  using OrderOfEpoch = std::function<std::vector<std::int64_t>(std::int64_t epoch)>;

  /// @param order_of_epoch    The same on all ranks.
  /// @param rank, world_size  This rank in [0, world_size), and how many there are.
  /// @param total_batch_size  Samples of a batch over all ranks: a multiple of world_size, and at most an epoch.
  ResumableShard(OrderOfEpoch order_of_epoch, std::int64_t rank, std::int64_t world_size, std::int64_t total_batch_size)
      : order_of_epoch_(std::move(order_of_epoch)),
        rank_(rank),
        world_size_(world_size),
        total_batch_size_(total_batch_size) {}

  /// This rank's samples for all batches that are left of the epoch, in order: total_batch_size / world_size for each
  /// batch. If what is left does not fill a batch, the next epoch begins, as a whole.
  /// @post  state().epoch is the epoch of these samples.
  [[nodiscard]] std::vector<std::int64_t> begin_iteration();

  /// All ranks have used another batch. May be followed by a checkpoint, which keeps state().
  void advance();

  /// The next iteration begins after the first `batches` batches of the epoch state().epoch, wherever it would have
  /// begun otherwise. Epochs after that one are whole.
  /// @param batches  Fewer than the epoch has.
  void skip_first_batches(std::int64_t batches);

  /// The content of a checkpoint.
  [[nodiscard]] const SamplerState& state() const noexcept { return state_; }
  /// Continues where a checkpoint was made, with any number of ranks and any batch size.
  void load_state(const SamplerState& state) noexcept { state_ = state; }

 private:
  OrderOfEpoch order_of_epoch_;
  std::int64_t rank_, world_size_, total_batch_size_;
  SamplerState state_;
};

}  // namespace lockstep::accelerate
