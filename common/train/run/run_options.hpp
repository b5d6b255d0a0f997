#pragma once
/// @file
/// The options of every run, for any model and data.
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

/// The options of a training program except those of its model, data and loss. A program with further options derives
/// from this struct and declares them in an overload of list_options() (option_list.hpp). The initial values of the
/// members are the defaults that --help shows.
struct RunOptions {
  /// The kind of training in a word: "mlp". Names the run folder; runs of another task cannot be resumed. Empty for the
  /// GPT, and not in its folders' names.
  std::string task;

  OptimizerOptions optimizer;
  LearningRateOptions learning_rate;
  DeviceOptions device;
  ParallelOptions parallel;
  CheckpointOptions checkpoints;
  OutputOptions output;

  std::int64_t batch_size = 0;          ///< Global: samples per step over all ranks. After parsing never 0.
  std::int64_t accumulation_steps = 1;  ///< Micro-batches per step and rank.
  std::int64_t steps = 1000;            ///< Number of updates.
  std::int64_t epochs = 0;              ///< If not 0, determines the number of updates instead of `steps`.
  bool uneven = false;                  ///< No sample is repeated or left out: ranks' last batches may differ in size.
  std::uint64_t seed = 1;               ///< For weights, order and dropout.
  std::int64_t stop_after = 0;          ///< This process stops after this step; 0: at the end.

  std::optional<std::filesystem::path> resume = {};       ///< The run folder to continue.
  std::optional<std::filesystem::path> resume_from = {};  ///< One of its checkpoints; empty: the newest.
  bool resumes_latest = false;  ///< Without --resume on the command line, acts as --resume auto.
  /// All ranks get equally many samples of a batch; false: the numbers may differ by one.
  bool has_equal_shares = true;
  std::string layout = {};  ///< How ranks divide the work, for commands that go on: " --tensor 2". Empty: the default.
  std::string division = {};    ///< The same for people: "pipeline 2 x data 1 x tensor 2". Empty: by samples only.
  std::int64_t data_ranks = 0;  ///< Into how many shares ranks divide a batch; 0: each rank has one of its own.

  /// The device of a rank: the named one or, if no index was given, the one with the rank's number.
  /// @param local_rank  Rank within its host.
  /// @throws UnavailableError  There are fewer GPUs than ranks, and they may not share one.
  [[nodiscard]] Device device_of(int local_rank) const;
  /// Factor applied to the learning rates; 1 without a reference batch.
  /// @source  Linear, for SGD: Goyal et al., "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", 2017,
  ///          section 2.1 (arXiv:1706.02677). Root, for Adam: Malladi et al., "On the SDEs and Scaling Rules for
  ///          Adaptive Gradient Algorithms", NeurIPS 2022 (there together with other betas and another epsilon).
  [[nodiscard]] double learning_rate_scale() const noexcept;
  /// The learning rate, scaled, over `total_steps` updates; the warm-up is at most as long as the training.
  [[nodiscard]] optim::Schedule schedule(std::int64_t total_steps) const;
  /// Gradients with a larger norm are clipped; infinite without clipping.
  [[nodiscard]] double max_gradient_norm() const noexcept;
  /// The number of updates for `steps` or `epochs`. A remainder of an epoch that does not fill a batch is dropped
  /// unless `uneven`.
  /// @param samples  In an epoch.
  /// @throws FormatError  An epoch has fewer samples than a batch, or the number is too large.
  [[nodiscard]] std::int64_t total_steps(std::int64_t samples) const;
  /// @param world_size   Shares of a batch, unless `data_ranks` is set.
  /// @throws UsageError  The ranks' micro-batches cannot divide the global batch evenly; or, if shares may be unequal,
  ///                     it has fewer samples than there are micro-batches.
  void require_divisible_batch(std::int64_t world_size) const;
};

/// For --memory-limit: from now on this process's allocations on its device fail beyond the limit (set_memory_limit()).
/// Does nothing without one. Rank and local rank are those of the launcher's variables.
/// @throws UnavailableError  As device_of(). @throws FormatError  The launcher's variables are malformed.
void limit_memory(const RunOptions& options);

/// Checks how options fit together, and fills in those left out.
/// @param line  After parsing.
/// @throws UsageError        Options that contradict each other; a run of another task to compare with.
/// @throws UnavailableError  A device that this build does not have.
void complete(RunOptions& options, const CommandLine& line);

}  // namespace lockstep::run
