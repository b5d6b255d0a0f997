#pragma once
/// @file
/// The checkpoints of a run.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/writer_lock.hpp"
#include "data/sampler.hpp"
#include "nn/module.hpp"
#include "optim/optimizer.hpp"
#include "run/ranks.hpp"
#include "run/run_options.hpp"
#include "run/step_log.hpp"
#include "run/training_state.hpp"
#include "run/whole_tensors.hpp"

namespace lockstep::run {

/// Continues a training run from its checkpoints on all ranks, saves new ones on the main rank, and finds the one to
/// return to if training diverges. Order of calls: add_state..., resume, save..., finish. Thread safety: none.
class Checkpoints {
 public:
  /// @param options     --resume, and which checkpoints are written, and how. Must outlive this.
  /// @param run_folder  Contains the checkpoints.
  /// @param saved       Stored in each checkpoint: as TrainingSaver.
  /// @param log         Counts the steps, and says if their losses are finite. Must outlive this.
  Checkpoints(const RunOptions& options, std::filesystem::path run_folder, nlohmann::json saved, StepLog& log,
              const Ranks& ranks);

  /// Adds state that each checkpoint saves and resume() restores. @pre  Before resume(); on all ranks.
  void add_state(KeptState state) { kept_.push_back(std::move(state)); }

  /// With --resume, keeps other processes from writing to the run while this object lives. For the main rank; before
  /// anything in the run's folder is changed.
  /// @throws IoError  Another process trains this run.
  void lock_resumed_run();

  /// With --resume, restores all three arguments and the state of add_state(); else only does --export-initial.
  /// @return  The step at which training continues.
  /// @throws IoError, FormatError, MismatchError  As load_training().
  [[nodiscard]] std::int64_t resume(nn::Module& model, optim::Optimizer& optimizer, data::Sampler& sampler);

  /// The same for ranks that hold parts of the model; the optimizer's state is divided like its parameters.
  /// @param model  This rank's parts, in the order of the file.
  /// @throws MismatchError  Also as WholeTensors, on all ranks.
  [[nodiscard]] std::int64_t resume(std::vector<NamedPart> model, optim::Optimizer& optimizer, data::Sampler& sampler);

  /// As Run::save().
  void save(const nn::Module& model, const optim::Optimizer& optimizer, const data::Sampler& sampler);
  void save(std::vector<NamedPart> model, const optim::Optimizer& optimizer, const data::Sampler& sampler);

  /// Waits until the last checkpoint is on disk. @throws IoError  It could not be saved.
  void finish();

  /// The longest time that training waited for one checkpoint; 0: none was saved.
  [[nodiscard]] std::chrono::duration<double> longest_save() const noexcept { return longest_save_; }

  /// The end of a message about a loss or gradient of this step that is not finite: names the last checkpoint with
  /// finite losses and the command that continues from it.
  [[nodiscard]] std::string way_back() const;

 private:
  [[nodiscard]] LoadedTraining load(const std::function<LoadedTraining(const std::filesystem::path&)>& from) const;
  [[nodiscard]] TrainingSaver& make_saver(const std::filesystem::path& resumed_from = {});
  [[nodiscard]] bool exports_initial() const noexcept;
  void export_initial(const std::function<void(const std::filesystem::path&)>& write) const;
  [[nodiscard]] bool warn_if_diverged() const;
  void time_save(const std::function<void()>& save);

  const RunOptions& options_;
  std::filesystem::path run_folder_;
  nlohmann::json saved_;
  StepLog& log_;
  Ranks ranks_;
  std::vector<KeptState> kept_;
  std::unique_ptr<checkpoint::WriterLock> lock_;  // until saver_ takes it
  std::optional<TrainingSaver> saver_;            // main rank only
  std::optional<WholeTensors> whole_;             // if the ranks hold parts
  std::chrono::duration<double> longest_save_{};
};

}  // namespace lockstep::run
