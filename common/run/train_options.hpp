#pragma once
/// @file
/// The options that all train_gpt_* programs share.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "nn/gpt.hpp"
#include "optim/schedule.hpp"

namespace lockstep::run {

/// What a training program was asked to do. The members' initial values are the defaults that --help shows.
struct TrainOptions {
  std::filesystem::path data_path;  ///< Empty: the course text; data::kRandomData: random tokens.
  std::string model = "tiny";       ///< Name of a configuration.
  std::string device = "cpu";       ///< Where the model lives, as Device::parse() reads it.
  bool share_gpu = false;           ///< Ranks may share a GPU.
  std::int64_t batch_size = 0;      ///< Global: samples per step over all ranks. After parsing never 0.
  std::int64_t steps = 1000;        ///< Updates in all.
  std::int64_t epochs = 0;          ///< If not 0, decides the number of updates in place of `steps`.
  std::uint64_t seed = 1;           ///< Of weights, order and dropout.

  std::filesystem::path validation_data;  ///< Empty: the last tenth of the data.
  std::string tokenizer;                  ///< As data::parse_tokenizer_spec() reads it. After parsing never empty.
  std::int64_t vocabulary_size = 0;       ///< 0: the model's own, or more where the tokenizer has more.
  int num_workers = 1;                    ///< Threads that prepare batches.
  std::string tokenizer_checksum;         ///< Recorded by a run: SHA-256 of its tokenizer.model; empty: it has none.
  std::string data_fingerprint;           ///< Recorded by a run: what its data were.

  std::string optimizer = "adamw";               ///< "adamw", "adam" or "sgd".
  double momentum = 0.9;                         ///< Of sgd.
  bool nesterov = false;                         ///< Of sgd.
  std::int64_t reference_batch_size = 0;         ///< For which `learning_rate` was found; 0: for whatever batch.
  std::string learning_rate_scaling = "linear";  ///< "linear", "sqrt" or "none": from that batch to this one.
  std::string schedule_name = "cosine";          ///< "cosine", "linear" or "constant", after the warm-up.

  double learning_rate = 2e-3;      ///< The largest one, before scaling.
  double min_learning_rate = 2e-4;  ///< At the end, before scaling.
  std::int64_t warmup_steps = 50;   ///< In which it rises linearly from 0.
  double weight_decay = 0.1;        ///< AdamW's, of matrices and embeddings.
  double clip = 1.0;                ///< 0: no clipping.
  double dropout = 0.0;             ///< Probability; 0: none.

  bool bf16 = false;                      ///< Activations and matrix products in bfloat16.
  bool activation_checkpointing = false;  ///< Blocks are computed again in backward instead of kept.

  std::filesystem::path out = "runs";  ///< Where the run folder is made.
  std::int64_t save_every = 200;       ///< 0: only at the end.
  std::int64_t keep_last = 2;          ///< Checkpoints kept; older ones are removed.
  bool async_save = true;              ///< The training waits for a copy of the tensors only, not for the disk.
  std::int64_t validate_every = 100;   ///< 0: only at the end.
  std::int64_t stop_after = 0;         ///< 0: never.
  std::string prompt = "The ";         ///< What the generated text begins with.
  std::int64_t sample_tokens = 300;    ///< Length of the generated text; 0: none.

  std::vector<std::filesystem::path> compare;  ///< Run folders whose losses the report draws beside this run's.

  std::int64_t accumulation_steps = 1;    ///< Micro-batches per step and rank.
  bool uneven = false;                    ///< No sample repeated or left out: ranks may differ in their last batches.
  bool no_sync = false;                   ///< Experiment: gradients are never averaged.
  std::int64_t check_replicas = 100;      ///< Steps between comparisons of the replicas; 0: only at checkpoints.
  bool bind_cores = false;                ///< Each rank stays on its share of the host's processors.
  std::string backend;                    ///< How ranks communicate: "ring", "nccl", ...
  std::string compress_gradients = "no";  ///< "no" or "bf16": how gradients travel.

  std::filesystem::path export_initial;  ///< Empty: nothing is written.
  bool log_batches = false;              ///< Adds each step's sample numbers to metrics.jsonl.

  std::optional<std::filesystem::path> resume;  ///< The run folder to continue.

  /// Where the rank that is `local_rank` of its host computes: `device`, or of several such devices the rank's own.
  /// @throws UnavailableError  There are fewer GPUs than ranks, and not `share_gpu`.
  [[nodiscard]] Device device_of(int local_rank) const;
  /// The model's sizes, with `dropout`.
  /// @param vocabulary  0: vocabulary_size, or that of the named model.
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

/// For options.json: everything but program and resume.
[[nodiscard]] nlohmann::json to_json(const TrainOptions& options);
/// @throws FormatError  Not what to_json() writes.
[[nodiscard]] TrainOptions options_from_json(const nlohmann::json& json);

}  // namespace lockstep::run
