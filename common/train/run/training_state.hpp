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

#include "data/sampler.hpp"
#include "nn/module.hpp"
#include "optim/optimizer.hpp"
#include "run/option_groups.hpp"

namespace lockstep::checkpoint {
class Saver;
class WriterLock;
}  // namespace lockstep::checkpoint
namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// Something beside model, optimizer and sampler that a training needs to be continued as if it had never stopped.
struct KeptState {
  std::string name;                                 ///< Unlike those of others; in state.json.
  std::function<nlohmann::json()> save;             ///< Called by each save, on the rank that saves.
  std::function<void(const nlohmann::json&)> load;  ///< Called on all ranks where a checkpoint has it.
};

/// Saves the checkpoints of a training; see checkpoint::Saver for what that means in the background.
/// Order of calls: save..., finish. Thread safety: one thread at a time.
class TrainingSaver {
 public:
  /// @param checkpoints  The folder of checkpoints, made on the first save.
  /// @param options      Which checkpoints are written, and how.
  /// @param saved        What goes into each checkpoint, to build the model again: to_json() of the run's options.
  /// @param last_step    Where training ends. Nothing goes on beside a save at the end: where no other comes before it,
  ///                     all saves block.
  /// @param resumed_from  The checkpoint that the training continues: the first save sets those behind it aside. Empty:
  ///                      it has begun anew.
  TrainingSaver(const std::filesystem::path& checkpoints, const CheckpointOptions& options, nlohmann::json saved,
                std::int64_t last_step, const std::filesystem::path& resumed_from = {});
  TrainingSaver(TrainingSaver&&) noexcept;  ///< The moved-from object can only be destroyed.
  /// Waits for a save that runs.
  ~TrainingSaver();

  /// Makes room for what saving in the background copies from a device; the caller does not wait.
  void prepare(const nn::Module& model, const optim::Optimizer& optimizer);

  /// Saves a checkpoint of step `step`, atomically. Everything may change as soon as it has returned; in the
  /// background, what changes a tensor that is not written yet waits for that.
  /// @throws IoError  The disk failed (in the background: in the save before), or another process saves there; earlier
  ///                  checkpoints are untouched.
  void save(std::int64_t step, const nn::Module& model, const optim::Optimizer& optimizer, const data::Sampler& sampler,
            std::span<const KeptState> kept = {});

  /// Waits until the last checkpoint is on disk, and removes what a killed writer of this run has left.
  /// A clean-up that fails, or that another process's lock prevents, is logged.
  /// @throws IoError  The save failed.
  void finish();

 private:
  std::filesystem::path checkpoints_;
  std::unique_ptr<checkpoint::WriterLock> lock_;  // from the first save on; outlives one in the background
  std::unique_ptr<checkpoint::Saver> saver_;
  nlohmann::json options_;
};

/// The checkpoint that `path` is, or the newest one below it that verifies: of several ranks, on rank 0, whose choice
/// all others follow.
/// @param path   A checkpoint, a folder of checkpoints, or a run folder; each rank may have it on a disk of its own.
/// @param group  Null: this process alone. Called on all ranks.
/// @throws IoError        There is none, or it cannot be read (CheckpointFolder::latest()).
/// @throws MismatchError  On all ranks alike: names those that lack rank 0's checkpoint, or whose copy differs or is
///                        damaged.
[[nodiscard]] std::filesystem::path find_checkpoint(const std::filesystem::path& path, comm::ProcessGroup* group);

/// Where a training continues.
struct LoadedTraining {
  std::int64_t step = 0;             ///< Of the checkpoint, the same on all ranks.
  std::filesystem::path checkpoint;  ///< This rank's copy of it.
};

/// Fills model, optimizer, sampler and what is kept beside from the newest checkpoint that verifies: of several ranks,
/// on rank 0, whose choice all others follow.
/// @param checkpoints  The folder of checkpoints, which each rank may have on a disk of its own; or one of them.
/// @param group        Null: this process alone. Called on all ranks.
/// @throws IoError, FormatError  There is none, or it does not fit the model or the text.
/// @throws MismatchError         On all ranks alike: names those that lack rank 0's checkpoint, or whose copy differs
/// or
///                               is damaged.
[[nodiscard]] LoadedTraining load_training(const std::filesystem::path& checkpoints, nn::Module& model,
                                           optim::Optimizer& optimizer, data::Sampler& sampler,
                                           comm::ProcessGroup* group = nullptr, std::span<const KeptState> kept = {});

/// Fills the model alone.
/// @param path  A checkpoint, or a run folder (then its newest checkpoint).
/// @throws IoError, FormatError  As load_training().
void load_model(const std::filesystem::path& path, nn::Module& model);

/// The options saved with a checkpoint. @param path  As load_model().
[[nodiscard]] nlohmann::json load_options(const std::filesystem::path& path);

/// Writes the weights alone as a safetensors file. @throws IoError
void export_weights(const std::filesystem::path& path, const nn::Module& model);

}  // namespace lockstep::run
