#pragma once
/// @file
/// A training run as a checkpoint: weights, optimizer, sampler, step.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "checkpoint/writer_lock.hpp"
#include "data/sampler.hpp"
#include "nn/module.hpp"
#include "optim/optimizer.hpp"
#include "run/option_groups.hpp"
#include "run/training_parts.hpp"

namespace lockstep::checkpoint {
class Saver;
struct StreamedContents;
}  // namespace lockstep::checkpoint
namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// Additional state, besides model, optimizer and sampler, that is needed to continue a run exactly.
struct KeptState {
  std::string name;                                 ///< Unique; key in state.json.
  std::function<nlohmann::json()> save;             ///< Called by each save, on the rank that saves.
  std::function<void(const nlohmann::json&)> load;  ///< Called on all ranks if a checkpoint has it.
};

/// Saves the checkpoints of a training run, on one rank of the job; for background saves see checkpoint::Saver. Order
/// of calls: save..., finish. Thread safety: one thread at a time.
class TrainingSaver {
 public:
  /// @param checkpoints  The folder of checkpoints, created by the first save.
  /// @param options      How many checkpoints are kept, and whether saves run in the background. When to save is the
  ///                     caller's decision; `save_every` only says whether a save comes before `last_step`.
  /// @param saved        Stored in each checkpoint, to rebuild the model: to_json() of the run's options.
  /// @param last_step    Last step of training. A save there has nothing to overlap with: if no other save comes before
  ///                     it, all saves block.
  /// @param resumed_from  The checkpoint that training continues from: the first save sets later ones aside. Empty: a
  ///                      new run.
  /// @param lock          Of the folder; null: the first save takes it.
  TrainingSaver(const std::filesystem::path& checkpoints, const CheckpointOptions& options, nlohmann::json saved,
                std::int64_t last_step, const std::filesystem::path& resumed_from = {},
                std::unique_ptr<checkpoint::WriterLock> lock = nullptr);
  TrainingSaver(TrainingSaver&&) noexcept;  ///< The moved-from object can only be destroyed.
  /// Waits for a save in progress.
  ~TrainingSaver();

  /// Allocates the memory for copying from a device in background saves; does not block.
  void prepare(const nn::Module& model, const optim::Optimizer& optimizer);

  /// Saves a checkpoint of step `step`, atomically. Everything may change once it has returned; during a background
  /// save, a write to a tensor that is not yet saved waits.
  /// @throws IoError  The disk failed (in the background: in the previous save), or another process saves there;
  ///                  earlier checkpoints are untouched.
  void save(std::int64_t step, const nn::Module& model, const optim::Optimizer& optimizer, const data::Sampler& sampler,
            std::span<const KeptState> kept = {});
  /// The same for tensors whose elements come while they are written (WholeTensors::save()), before this returns.
  /// @param counts  step_counts_of_all().
  void save(std::int64_t step, const checkpoint::StreamedContents& contents, const optim::StepCounts& counts,
            const data::Sampler& sampler, std::span<const KeptState> kept = {});

  /// Waits until the last checkpoint is on disk, and removes the leftovers of a killed writer of this run. Logs a
  /// clean-up that fails, or that another process's lock prevents.
  /// @throws IoError  The save failed.
  void finish();

 private:
  [[nodiscard]] nlohmann::json state_of(std::int64_t step, const optim::StepCounts& counts,
                                        const data::Sampler& sampler, std::span<const KeptState> kept);

  std::filesystem::path checkpoints_;
  std::unique_ptr<checkpoint::WriterLock> lock_;  // from the first save on, at the latest; outlives a background save
  std::unique_ptr<checkpoint::Saver> saver_;
  nlohmann::json options_;
};

/// The checkpoint `path` itself, or the newest one below it that verifies. With several ranks, rank 0 chooses and the
/// others follow.
/// @param path   A checkpoint, a folder of checkpoints, or a run folder; may be on a separate disk for each rank.
/// @param group  Null: this process alone. Called on all ranks.
/// @throws IoError        There is none, or it cannot be read (CheckpointFolder::latest()).
/// @throws MismatchError  On all ranks: names those that lack rank 0's checkpoint, or whose copy differs or is damaged.
[[nodiscard]] std::filesystem::path find_checkpoint(const std::filesystem::path& path, comm::ProcessGroup* group);

/// The point where training continues.
struct LoadedTraining {
  std::int64_t step = 0;             ///< The same on all ranks.
  std::filesystem::path checkpoint;  ///< This rank's copy of it.
};

/// Restores model, optimizer, sampler and additional state from the newest checkpoint that verifies. With several
/// ranks, rank 0 chooses and the others follow.
/// @param checkpoints  The folder of checkpoints, which may be on a separate disk for each rank; or one of them.
/// @param group        Null: this process alone. Called on all ranks.
/// @throws IoError, FormatError  There is none, or it does not fit the model or the text.
/// @throws MismatchError         On all ranks: names those that lack rank 0's checkpoint, or whose copy differs or is
///                               damaged.
[[nodiscard]] LoadedTraining load_training(const std::filesystem::path& checkpoints, nn::Module& model,
                                           optim::Optimizer& optimizer, data::Sampler& sampler,
                                           comm::ProcessGroup* group = nullptr, std::span<const KeptState> kept = {});

/// The same for ranks that hold parts of model and optimizer: each reads its own. Collective.
/// @param optimizer  That of `parts.optimizer`.
[[nodiscard]] LoadedTraining load_training(const std::filesystem::path& checkpoints, const TrainingParts& parts,
                                           optim::Optimizer& optimizer, data::Sampler& sampler,
                                           comm::ProcessGroup* group = nullptr, std::span<const KeptState> kept = {});

/// Restores only the model.
/// @param path  A checkpoint, or a run folder (then its newest checkpoint).
/// @throws IoError, FormatError  As load_training().
void load_model(const std::filesystem::path& path, nn::Module& model);

/// The options saved with a checkpoint. @param path  As load_model().
[[nodiscard]] nlohmann::json load_options(const std::filesystem::path& path);

/// Writes only the weights, as a safetensors file. @throws IoError
void export_weights(const std::filesystem::path& path, const nn::Module& model);

}  // namespace lockstep::run
