#pragma once
/// @file
/// The options that a run understands, whatever it trains.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "device/device.hpp"
#include "optim/schedule.hpp"
#include "run/option_groups.hpp"

namespace lockstep {
class CommandLine;
}

namespace lockstep::run {

/// What a training program was asked to do, apart from its model, data and loss. A program with options of its own
/// derives from this struct and declares them in an overload of list_options() (option_list.hpp). The members' values
/// before the command line is read are the defaults that --help shows.
struct RunOptions {
  /// What the program trains, in a word: "mlp". Names the run folder; runs of another task cannot be resumed. The GPT's
  /// run folders name none.
  std::string task;

  OptimizerOptions optimizer;         ///< How gradients become updates.
  LearningRateOptions learning_rate;  ///< How large updates are.
  DeviceOptions device;               ///< Where ranks compute.
  ParallelOptions parallel;           ///< How ranks work together.
  CheckpointOptions checkpoints;      ///< What is saved.
  OutputOptions output;               ///< What is reported.

  std::int64_t batch_size = 0;          ///< Global: samples per step over all ranks. After parsing never 0.
  std::int64_t accumulation_steps = 1;  ///< Micro-batches per step and rank.
  std::int64_t steps = 1000;            ///< Updates in all.
  std::int64_t epochs = 0;              ///< If not 0, decides the number of updates in place of `steps`.
  bool uneven = false;                  ///< No sample repeated or left out: ranks may differ in their last batches.
  std::uint64_t seed = 1;               ///< Of weights, order and dropout.
  std::int64_t stop_after = 0;          ///< The step after which this process stops; 0: it does not.

  std::optional<std::filesystem::path> resume = {};       ///< The run folder to continue.
  std::optional<std::filesystem::path> resume_from = {};  ///< One of its checkpoints; empty: the newest.
  bool resumes_latest = false;   ///< Where the command line does not say --resume, it means --resume auto.
  bool has_equal_shares = true;  ///< Each rank gets as many samples of a batch as every other; false: or one more.

  /// Where the rank that is `local_rank` of its host computes: the named device, or of several such devices the rank's
  /// own.
  /// @throws UnavailableError  There are fewer GPUs than ranks, and they may not share one.
  [[nodiscard]] Device device_of(int local_rank) const;
  /// What the learning rates are multiplied by; 1 without a reference batch.
  /// @source  Linear, for SGD: Goyal et al., "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", 2017,
  ///          section 2.1 (arXiv:1706.02677). Root, for Adam: Malladi et al., "On the SDEs and Scaling Rules for
  ///          Adaptive Gradient Algorithms", NeurIPS 2022 (there together with other betas and another epsilon).
  [[nodiscard]] double learning_rate_scale() const noexcept;
  /// The learning rate, scaled, over `total_steps` updates; the warm-up is at most as long as the training.
  [[nodiscard]] optim::Schedule schedule(std::int64_t total_steps) const;
  /// The largest gradient norm that is left as it is; infinite without clipping.
  [[nodiscard]] double max_gradient_norm() const noexcept;
  /// How many updates `steps` or `epochs` mean for an epoch of that many samples. A rest that does not fill a batch is
  /// dropped unless `uneven`.
  /// @throws FormatError  An epoch has fewer samples than a batch.
  [[nodiscard]] std::int64_t total_steps(std::int64_t samples) const;
  /// @throws UsageError  The global batch cannot be divided evenly among that many ranks' micro-batches; or, where
  /// shares
  ///                     may be unequal, it has fewer samples than there are micro-batches.
  void require_divisible_batch(std::int64_t world_size) const;
};

/// Checks options that only make sense together, and fills in what was left out.
/// @param line  After parsing.
/// @throws UsageError        Options that have no meaning together; a run of another task to compare with.
/// @throws UnavailableError  A device that this build does not have.
void complete(RunOptions& options, const CommandLine& line);

}  // namespace lockstep::run
