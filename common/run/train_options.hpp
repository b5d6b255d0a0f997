#pragma once
/// @file
/// The options that all train_gpt_* programs share.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "device/device.hpp"
#include "nn/gpt.hpp"
#include "optim/schedule.hpp"
#include "run/option_groups.hpp"

namespace lockstep::run {

/// What a training program was asked to do. The members' initial values are the defaults that --help shows; what each
/// member is called on the command line and in options.json is declared in option_list.cpp, once.
struct TrainOptions {
  DataOptions data;                   ///< What is read.
  ModelOptions model;                 ///< What is trained.
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

  std::optional<std::filesystem::path> resume;  ///< The run folder to continue.

  /// Where the rank that is `local_rank` of its host computes: the named device, or of several such devices the rank's
  /// own.
  /// @throws UnavailableError  There are fewer GPUs than ranks, and they may not share one.
  [[nodiscard]] Device device_of(int local_rank) const;
  /// The model's sizes, with dropout.
  /// @param vocabulary  0: data.vocabulary_size, or that of the named model.
  [[nodiscard]] nn::GptConfig model_config(std::int64_t vocabulary = 0) const;
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
  /// @throws UsageError  The global batch cannot be divided evenly among that many ranks' micro-batches.
  void require_divisible_batch(std::int64_t world_size) const;
};

/// What a command line means: options, or nothing to do but end.
struct ParsedTrainOptions {
  TrainOptions options;          ///< As given, or their defaults.
  std::optional<int> exit_code;  ///< Set where the program is to end: help was shown, or the command line is wrong.
};

/// Reads the command line, and answers a wrong one on standard error. With --resume the options of that run are the
/// defaults.
/// @throws UsageError        No run to resume, or an option that a resumed run may not change.
/// @throws UnavailableError  A device that this build does not have.
/// @throws IoError, FormatError  The options of the run to resume cannot be read.
[[nodiscard]] ParsedTrainOptions parse_train_options(int argc, const char* const* argv);

/// parse_train_options(), then `train`; an error becomes one line, which begins with the program's name or
/// LOCKSTEP_PROGRAM. With LOCKSTEP_CHECK_OPTIONS set, ends after checking the options (against WORLD_SIZE too): a
/// launcher does that once before it starts many ranks.
/// @return  The exit status for main().
[[nodiscard]] int run_training(int argc, const char* const* argv,
                               const std::function<int(const TrainOptions&)>& train) noexcept;

/// For options.json: everything that is not for one start of the program only.
[[nodiscard]] nlohmann::json to_json(const TrainOptions& options);
/// @throws FormatError  Not what to_json() writes.
[[nodiscard]] TrainOptions options_from_json(const nlohmann::json& json);

}  // namespace lockstep::run
