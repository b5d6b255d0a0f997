#pragma once
/// @file
/// Samplers: which samples a rank sees in an epoch, in which order, and how many it has seen.
#include <cstdint>
#include <vector>

namespace lockstep::data {

/// The state for resuming exactly where a run stopped, at the same or another number of ranks.
struct SamplerState {
  std::uint64_t seed = 0;         ///< Of the job; the same on all ranks.
  std::int64_t epoch = 0;         ///< Counts passes over the data, from 0.
  std::int64_t consumed = 0;      ///< Positions of the epoch's order used so far, over all ranks.
  std::int64_t dataset_size = 0;  ///< Guards against resuming on another dataset.

  bool operator==(const SamplerState&) const = default;
};

/// The order of an epoch: a permutation of [0, count) that is a pure function of (seed, epoch, count).
/// @cost    O(count).
/// @source  Fisher and Yates, in Durstenfeld's form (CACM 7(7), 1964), with Philox as the random source.
[[nodiscard]] std::vector<std::int64_t> epoch_permutation(std::uint64_t seed, std::int64_t epoch, std::int64_t count);

/// An epoch has one order for the whole job; a sampler yields one rank's part of it and counts the positions that the
/// job has used. All ranks use equal amounts, so after each of W ranks has taken k samples, the first k*W positions of
/// the order are done. That number alone is the state, and it does not depend on W.
///
/// Order of calls: set_epoch, then a DataLoader iterates (begin_iteration once, advance per batch). Without set_epoch
/// every iteration repeats the same epoch. Thread safety: one thread.
class Sampler {
 public:
  /// @param dataset_size  Samples in the dataset, over all ranks; at least 1.
  /// @throws ContractError  dataset_size below 1.
  Sampler(std::int64_t dataset_size, std::uint64_t seed);
  virtual ~Sampler() = default;

  /// Chooses the epoch and its order. Choosing another epoch drops a loaded position.
  void set_epoch(std::int64_t epoch);

  [[nodiscard]] std::int64_t epoch() const noexcept { return state_.epoch; }
  /// For a checkpoint.
  [[nodiscard]] const SamplerState& state() const noexcept { return state_; }

  /// Continues from `state`: the next iteration of that epoch begins after the consumed positions. A state at the end
  /// of an epoch becomes the start of the next.
  /// @throws FormatError  The state belongs to a dataset of another size, or is out of range.
  void load_state(const SamplerState& state);
  /// To ask before anything else is loaded. @throws FormatError  load_state() would refuse `state`.
  void require_loadable(const SamplerState& state) const;

  /// This rank's remaining samples of the epoch, in order. An iteration starts at the epoch's beginning, except the
  /// first one after load_state().
  [[nodiscard]] virtual std::vector<std::int64_t> begin_iteration();

  /// Counts samples handed out on this rank, assuming the same number on every other.
  virtual void advance(std::int64_t samples_of_this_rank);

  /// Samples of this rank in a whole epoch.
  [[nodiscard]] virtual std::int64_t samples_per_epoch() const = 0;

 protected:
  /// This rank's samples of the epoch state().epoch, from position `first_position` of the whole job's order on.
  [[nodiscard]] virtual std::vector<std::int64_t> indices_from(std::int64_t first_position) const = 0;

  /// Ranks that share the order.
  [[nodiscard]] virtual int replica_count() const noexcept { return 1; }

  /// Positions in the whole job's order of one epoch: the dataset's size unless a sampler pads or drops.
  [[nodiscard]] virtual std::int64_t positions_per_epoch() const noexcept { return state_.dataset_size; }

 private:
  SamplerState state_;
  std::int64_t resume_position_ = 0;  // where the next iteration begins
};

/// 0, 1, 2, ...: for validation.
class SequentialSampler final : public Sampler {
 public:
  explicit SequentialSampler(std::int64_t dataset_size) : Sampler(dataset_size, 0) {}
  [[nodiscard]] std::int64_t samples_per_epoch() const override { return positions_per_epoch(); }

 protected:
  [[nodiscard]] std::vector<std::int64_t> indices_from(std::int64_t first_position) const override;
};

/// Every sample once per epoch, in the order of epoch_permutation().
class RandomSampler final : public Sampler {
 public:
  using Sampler::Sampler;
  [[nodiscard]] std::int64_t samples_per_epoch() const override { return positions_per_epoch(); }

 protected:
  [[nodiscard]] std::vector<std::int64_t> indices_from(std::int64_t first_position) const override;
};

}  // namespace lockstep::data
