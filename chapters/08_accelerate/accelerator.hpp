#pragma once
/// @file
/// The five changes of chapter 06 in one object, for any module: as Hugging Face Accelerate does for PyTorch's DDP.
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "08_accelerate/prepared/accelerated_loader.hpp"
#include "08_accelerate/prepared/accelerated_model.hpp"
#include "08_accelerate/prepared/accelerated_optimizer.hpp"
#include "08_accelerate/prepared/accumulation_scope.hpp"
#include "08_accelerate/prepared/gradient_state.hpp"
#include "08_accelerate/process/accelerator_options.hpp"
#include "08_accelerate/process/partial_state.hpp"
#include "08_accelerate/state/random_state.hpp"
#include "08_accelerate/state/saved_objects.hpp"
#include "08_accelerate/tracking/profile.hpp"
#include "autograd/autocast.hpp"
#include "autograd/variable.hpp"
#include "base/mixed_precision.hpp"
#include "data/data_loader.hpp"
#include "nn/module.hpp"
#include "optim/grad_scaler.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"
#include "run/tracker.hpp"

namespace lockstep::accelerate {

/// The types that prepare() accepts.
template <typename T>
concept Preparable = std::derived_from<T, nn::Module> || std::derived_from<T, optim::Optimizer> ||
    std::same_as<T, data::DataLoader> || std::same_as<std::remove_const_t<T>, optim::Schedule>;

/// Makes a training loop that was written for one process work on any number of ranks:
/// ```cpp
/// accelerate::Accelerator accelerator({.gradient_accumulation_steps = 2});
/// auto [net, adam, batches, rate] = accelerator.prepare(model, optimizer, loader, schedule);
/// for (const data::Batch& batch : batches) {
///   const auto scope = accelerator.accumulate(net);
///   adam.zero_grad();
///   accelerator.backward(net->loss(batch));
///   if (accelerator.sync_gradients()) accelerator.clip_grad_norm(net->parameters(), 1.0);
///   adam.step(rate.get_last_lr());
///   rate.step();
/// }
/// ```
/// Lifetime: construct it before, and destroy it after, everything that it prepares; prepared objects must still exist
/// when it saves or loads. Order of calls: prepare() each object once, in the same order on all ranks. Thread safety:
/// one thread.
/// @source accelerate.Accelerator, Hugging Face Accelerate 1.
class Accelerator : public PartialState {
 public:
  /// Joins the job that the environment describes; without a launcher, this process is the job. Collective.
  /// @throws ContractError     gradient_accumulation_steps below 1, a negative total_limit, or as optim::GradScaler.
  /// @throws UnavailableError  Mixed precision kFp16 on the CPU, which does not compute in float16.
  /// @throws UsageError        LOCKSTEP_MIXED_PRECISION is used, and is not a precision.
  /// @throws  Otherwise as PartialState.
  explicit Accelerator(AcceleratorOptions options = {});
  /// The same for a job already joined.
  Accelerator(AcceleratorOptions options, comm::JobContext job);
  Accelerator(const Accelerator&) = delete;
  Accelerator& operator=(const Accelerator&) = delete;

  /// Prepares any number of modules, optimizers, loaders and schedules, in any order: `auto [net, adam] =
  /// accelerator.prepare(model, optimizer)`. A single handle is returned directly, not in a tuple. Collective.
  /// @return  Handles: AcceleratedModel, AcceleratedOptimizer, AcceleratedLoader, AcceleratedScheduler.
  /// @throws  As DistributedDataParallel and data::DataLoader; ContractError if, with split_batches, the ranks do not
  ///          divide the batch.
  template <Preparable... Objects>
  [[nodiscard]] auto prepare(Objects&... objects) {
    static_assert(sizeof...(objects) > 0, "prepare() takes at least one object");
    if constexpr (sizeof...(objects) == 1) {
      return (prepare_one(objects), ...);
    } else {
      return std::tuple<decltype(prepare_one(objects))...>{prepare_one(objects)...};  // braces: evaluated in order
    }
  }

  /// `const auto scope = accelerator.accumulate(net);` at the beginning of a loop's body: the micro-batches of a step
  /// add up, and only the last one's backward() averages over the ranks. The last batch of the running prepared loader
  /// also ends a step. Inner loops, such as an evaluation's, have no effect once they have ended or been left.
  /// @throws ContractError  Within join_uneven_inputs() with more than one micro-batch: pass them all, as below.
  template <typename... Models>
  [[nodiscard]] AccumulationScope accumulate(const AcceleratedModel<Models>&... models) {
    return AccumulationScope(*gradient_state_, options_.gradient_accumulation_steps, {&models.ddp()...});
  }
  /// The same if all micro-batches of a step are available as a range.
  /// @param parts  Kept by the caller. Any number; with none, this rank contributes zeros.
  template <typename Model, typename Part>
  [[nodiscard]] ddp::Accumulation<Part> accumulate(const AcceleratedModel<Model>& model,
                                                   const std::vector<Part>& parts) {
    update_scale();  // a rank without parts never calls backward(), which would do this
    return model.ddp().accumulate(parts);
  }

  /// Whether the current micro-batch is the last of its step, so that optimizers step.
  [[nodiscard]] bool sync_gradients() const noexcept { return gradient_state_->sync_gradients; }
  [[nodiscard]] std::int64_t gradient_accumulation_steps() const noexcept {
    return options_.gradient_accumulation_steps;
  }

  /// Adds the gradients of `loss`, divided by gradient_accumulation_steps(); with a gradient scaler, of the scaled
  /// loss. Warns once if mixed precision is chosen but autocast() has never been called.
  /// @throws  As DistributedDataParallel's backward.
  void backward(const autograd::Variable& loss);
  /// The same with an explicit weight, for micro-batches of unequal sizes. @param weight  The micro-batch's share of
  /// this rank's step.
  void backward(const autograd::Variable& loss, double weight);

  /// Scales the averaged gradients down to `max_norm`, after a gradient scaler has unscaled them.
  /// @return  Their norm before scaling; not finite if the step will be skipped.
  /// @throws ContractError  Not sync_gradients(): more gradients are to come. With a gradient scaler: called twice in a
  ///                        step for parameters of the same optimizer.
  double clip_grad_norm(const std::vector<autograd::Variable>& parameters, double max_norm);

  /// Whether the last step of a prepared optimizer was skipped, because a gradient was infinite or NaN on some rank;
  /// the same on all ranks. If so, schedules do not advance.
  [[nodiscard]] bool optimizer_step_was_skipped() const noexcept { return !gradient_state_->skipped.empty(); }
  /// The gradient scaler. Call after the last optimizer's step; closes that step. Null if losses are not scaled.
  [[nodiscard]] const optim::GradScaler* scaler();
  /// For programs whose checkpoints are a run::Run's instead of save_state()'s:
  /// `run.checkpoints().add_state(*accelerator.scaler_state())`.
  /// @return  Nothing if losses are not scaled. Valid while this object lives.
  [[nodiscard]] std::optional<run::KeptState> scaler_state();

  /// While the returned object exists, operations compute in the options' precision.
  [[nodiscard]] autograd::Autocast autocast() const noexcept {
    has_autocast_begun_ = true;
    return autograd::Autocast(*options_.mixed_precision);
  }

  /// Gathers the rows of all ranks for the last batch of a prepared loader, in the order of a single process, without
  /// repeated samples. Ranks may have unequal batches. Call it in that loader's loop; in nested loops, the innermost
  /// one counts. Collective.
  /// @param tensor  [n, ...] for a batch of n samples on this rank: for example a prediction per sample.
  /// @return        [N, ...] for the N samples of all ranks.
  /// @throws ContractError  No prepared loader is being iterated, or the tensor has a different number of rows.
  [[nodiscard]] Tensor gather_for_metrics(const Tensor& tensor) const;

  /// Loops over a loader whose ranks may have different numbers of batches (even_batches = false): ranks without data
  /// get empty batches until none has any, and every target has the same weight in the gradients. Batches are in host
  /// memory, where targets are counted.
  template <typename Model>
  [[nodiscard]] UnevenInputs join_uneven_inputs(const AcceleratedModel<Model>& model, AcceleratedLoader& loader) {
    return UnevenInputs(*gradient_state_, model.ddp(), loader);
  }

  /// Makes the loader's next iteration skip the epoch's first `batches` batches, without loading them.
  /// @throws ContractError  Not less than the epoch's number of batches.
  AcceleratedLoader& skip_first_batches(AcceleratedLoader& loader, std::int64_t batches) const {
    loader.skip_first(batches);
    return loader;
  }

  /// The module itself, without its wrapper.
  template <typename Model>
  [[nodiscard]] Model& unwrap_model(const AcceleratedModel<Model>& model) const noexcept {
    return *model;
  }

  /// Random numbers that differ between ranks and are saved with them.
  [[nodiscard]] RandomState& random() noexcept { return random_; }

  /// Saves `object` with every checkpoint; all ranks load rank 0's state. @param object  Outlives the last save.
  void register_for_checkpointing(Checkpointable auto& object) {
    const std::size_t own = scaler_ ? 1 : 0;
    saved_.of_job.push_back(kept_state_of(concat("object_", saved_.of_job.size() - own), object));
  }

  /// Saves models, optimizers, schedules, samplers' positions, the gradient scaler, registered objects, and random() of
  /// every rank, as project_dir/checkpoints/step_N, where N counts the checkpoints. It is complete and verified before
  /// older ones beyond total_limit are removed. Collective.
  /// @return  The checkpoint's folder. @throws IoError  On all ranks; earlier checkpoints are untouched.
  /// @throws ContractError  Between the micro-batches of a step, whose gradients are not saved.
  std::filesystem::path save_state();

  /// Continues where save_state() was called: with the same number of ranks, bit for bit; with another number, with the
  /// same samples in the same order (for the same total batch size) and fresh random() on every rank. Collective.
  /// @param path  A checkpoint, or a folder of them; empty: the newest one of project_dir that verifies.
  /// @return      The checkpoint read. @pre  The same objects are prepared and registered, and no step has begun.
  /// @throws  As load_objects().
  LoadedCheckpoint load_state(const std::filesystem::path& path = {});

  /// Makes the trackers named in log_with, in project_dir/logs/project_name, and writes config.json there. Does nothing
  /// except on the main process. @param config  The run's settings.
  /// @throws UsageError, IoError  As run::make_tracker().
  void init_trackers(const std::string& project_name, const nlohmann::json& config = nlohmann::json::object());
  /// Gives the values to all trackers, on the main process, as run::Trackers::log(). @param step  The values' step.
  void log(const run::Scalars& values, std::int64_t step) { trackers_.log(values, step); }
  /// Closes the trackers; log() then does nothing. Waits for all ranks. Collective.
  void end_training();

  /// Records this rank's work, step by step, until the returned object is destroyed, which writes one trace per rank:
  /// `const auto profile = accelerator.profile();`. Call it around the steps to record (Accelerate's schedule_option).
  /// @throws  As Profile.
  [[nodiscard]] Profile profile(const ProfileOptions& options = {}) {
    const bool is_left_open = options.output_trace_dir.empty();
    return {gradient_state_, process_group(),
            is_left_open ? options_.project_dir / "profile" : options.output_trace_dir};
  }

  /// Forgets everything prepared and registered, and returns unused memory to the system. Destroy the handles and their
  /// originals before this call.
  void free_memory();

 private:
  template <std::derived_from<nn::Module> Model>
  AcceleratedModel<Model> prepare_one(Model& model) {
    return {model, wrap(model)};
  }
  AcceleratedOptimizer prepare_one(optim::Optimizer& optimizer);
  AcceleratedLoader prepare_one(data::DataLoader& loader);
  AcceleratedScheduler prepare_one(const optim::Schedule& schedule);
  std::shared_ptr<ddp::DistributedDataParallel> wrap(nn::Module& model);
  void initialize();
  void make_scaler();
  void register_own_state();
  void warn_without_autocast();
  void update_scale();
  void unscale_gradients(const std::vector<autograd::Variable>& parameters);

  AcceleratorOptions options_;               // with mixed_precision set
  mutable bool has_autocast_begun_ = false;  // or the warning has been given
  std::shared_ptr<GradientState> gradient_state_ = std::make_shared<GradientState>();
  RandomState random_;
  std::unique_ptr<optim::GradScaler> scaler_;  // may be null
  SavedObjects saved_;
  run::Trackers trackers_;                 // on the main process
  std::optional<std::int64_t> next_save_;  // number of the next checkpoint; unset: after the existing ones
};

}  // namespace lockstep::accelerate
