#pragma once
/// @file
/// The options of any training program by topic; RunOptions combines them.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::run {

/// How gradients become updates.
struct OptimizerOptions {
  std::string name = "adamw";  ///< "adamw", "adam" or "sgd".
  double momentum = 0.9;       ///< For sgd.
  bool nesterov = false;       ///< For sgd.
  double weight_decay = 0.1;   ///< For adamw; applies to matrices and embeddings.
  double clip = 1.0;           ///< The largest gradient norm; 0: no clipping.
};

/// How large the updates are, and when.
struct LearningRateOptions {
  double highest = 2e-3;                  ///< After the warm-up, before scaling.
  double lowest = 2e-4;                   ///< At the end, before scaling.
  std::int64_t warmup_steps = 50;         ///< Rises linearly from 0.
  std::string schedule = "cosine";        ///< "cosine", "linear" or "constant", after the warm-up.
  std::int64_t reference_batch_size = 0;  ///< Batch size for which `highest` was tuned; 0: no scaling.
  std::string scaling = "linear";  ///< "linear", "sqrt" or "none": from reference_batch_size to the actual batch.
};

/// Where ranks compute.
struct DeviceOptions {
  std::string name = "cpu";  ///< As Device::parse() reads it.
  bool share_gpu = false;
  bool bind_cores = false;  ///< Pins each rank to its share of the host's processors.
  /// The most memory of a rank, as parse_byte_count() reads it; empty: no limit.
  std::string memory_limit = {};
  /// How the algorithms of matrix products on a GPU are chosen: "first", "timed", or a file with a table.
  std::string matmul_algorithms = "first";
};

/// How ranks work together. Ignored with a single process.
struct ParallelOptions {
  std::string backend = "auto";           ///< Of communication: "auto", "ring", "shared_memory", "nccl", ...
  std::string compress_gradients = "no";  ///< "no" or "bf16": format in which gradients are sent.
  std::int64_t check_replicas = 100;      ///< Steps between comparisons of the replicas; 0: only at checkpoints.
  bool no_sync = false;                   ///< Experiment: gradients are never averaged.
};

/// Which checkpoints are written, and how.
struct CheckpointOptions {
  std::int64_t save_every = 200;  ///< Steps; 0: only at the end.
  std::int64_t keep_last = 2;     ///< Number of checkpoints kept; older ones are removed.
  bool async_save = true;         ///< Training waits until the tensors are handed to the system, not for the disk.
};

/// The files and reports of a run.
struct OutputOptions {
  std::filesystem::path folder = "runs";       ///< Parent of the run folder.
  std::int64_t validate_every = 100;           ///< Steps between evaluations; 0: only at the end.
  std::vector<std::filesystem::path> compare;  ///< Run folders whose losses the report draws too.
  std::filesystem::path export_initial;        ///< Where the initial weights are written; empty: nowhere.
  bool log_batches = false;                    ///< Adds each step's sample ids to metrics.jsonl.
  bool tensorboard = false;                    ///< Writes the numbers of metrics.jsonl for TensorBoard too.
};

}  // namespace lockstep::run
