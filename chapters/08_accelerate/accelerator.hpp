#pragma once
/// @file
/// The five changes of chapter 06 in one object, for any module: what Hugging Face Accelerate is to PyTorch's DDP.
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
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
#include "08_accelerate/tracking/tracker.hpp"
#include "autograd/autocast.hpp"
#include "autograd/variable.hpp"
#include "base/mixed_precision.hpp"
#include "data/data_loader.hpp"
#include "nn/module.hpp"
#include "optim/grad_scaler.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"

namespace lockstep::accelerate {

/// What prepare() takes.
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
/// Lifetime: made before, and destroyed after, everything that it prepares; what it prepares lives as long as it saves
/// or loads. Order of calls: prepare() each object once, in the same order on all ranks. Thread safety: one thread.
/// @source accelerate.Accelerator, Hugging Face Accelerate 1.
class Accelerator : public PartialState {
 public:
  /// Joins the job that the environment describes; without a launcher, this process is the job. Collective.
  /// @throws ContractError     gradient_accumulation_steps below 1, a negative total_limit, or as optim::GradScaler.
  /// @throws UnavailableError  Mixed precision kFp16 on the CPU, which does not compute in float16.
  /// @throws UsageError        LOCKSTEP_MIXED_PRECISION is asked for, and is no precision.
  /// @throws  Further, as PartialState.
  explicit Accelerator(AcceleratorOptions options = {});
  /// The same for a job that has been joined before.
  Accelerator(AcceleratorOptions options, comm::JobContext job);
  Accelerator(const Accelerator&) = delete;
  Accelerator& operator=(const Accelerator&) = delete;

  /// Prepares any number of modules, optimizers, loaders and schedules, in any order: `auto [net, adam] =
  /// accelerator.prepare(model, optimizer)`. One alone is returned as it is, not as a tuple. Collective.
  /// @return  Handles: AcceleratedModel, AcceleratedOptimizer, AcceleratedLoader, AcceleratedScheduler.
  /// @throws  As DistributedDataParallel and data::DataLoader; ContractError where split_batches asks for a batch that
  ///          the ranks do not divide.
  template <Preparable... Objects>
  [[nodiscard]] auto prepare(Objects&... objects) {
    static_assert(sizeof...(objects) > 0, "prepare() takes at least one object");
    if constexpr (sizeof...(objects) == 1) {
      return (prepare_one(objects), ...);
    } else {
      return std::tuple<decltype(prepare_one(objects))...>{prepare_one(objects)...};  // braces: from left to right
    }
  }

  /// `const auto scope = accelerator.accumulate(net);` at the beginning of a loop's body: the micro-batches of a step
  /// add up, and only the last one's backward() averages over the ranks. The last batch of the prepared loader that is
  /// iterated ends a step, too. Other loops within the body, such as an evaluation's, change nothing once they have
  /// ended or been left.
  /// @throws ContractError  Within join_uneven_inputs() with more than one micro-batch: pass them all, as below.
  template <typename... Models>
  [[nodiscard]] AccumulationScope accumulate(const AcceleratedModel<Models>&... models) {
    return AccumulationScope(*gradient_state_, options_.gradient_accumulation_steps, {&models.ddp()...});
  }
  /// The same where all micro-batches of a step are at hand: a range of them.
  /// @param parts  Kept by the caller. Any number of them; with none this rank contributes zeros.
  template <typename Model, typename Part>
  [[nodiscard]] ddp::Accumulation<Part> accumulate(const AcceleratedModel<Model>& model,
                                                   const std::vector<Part>& parts) {
    update_scale();  // a rank without parts has no backward() that would
    return model.ddp().accumulate(parts);
  }

  /// Whether the running micro-batch is the last of its step: whether optimizers step.
  [[nodiscard]] bool sync_gradients() const noexcept { return gradient_state_->sync_gradients; }
  /// As given.
  [[nodiscard]] std::int64_t gradient_accumulation_steps() const noexcept {
    return options_.gradient_accumulation_steps;
  }

  /// Adds the gradients of `loss`, divided by gradient_accumulation_steps(); with a gradient scaler, of the scaled
  /// loss. Warns once where mixed precision is chosen and autocast() has never been called.
  /// @throws  As DistributedDataParallel's backward.
  void backward(const autograd::Variable& loss);
  /// The same with a weight of its own, for micro-batches of unequal sizes. @param weight  The micro-batch's share of
  /// this rank's step.
  void backward(const autograd::Variable& loss, double weight);

  /// Scales the averaged gradients down to `max_norm`, after a gradient scaler has unscaled them.
  /// @return  Their norm before; not finite where the step will be skipped.
  /// @throws ContractError  Not sync_gradients(): more gradients are still to be added. With a gradient scaler: called
  ///                        twice in a step for parameters of the same optimizer.
  double clip_grad_norm(const std::vector<autograd::Variable>& parameters, double max_norm);

  /// Whether the last step of a prepared optimizer was skipped, because a gradient was infinite or NaN on some rank;
  /// the same on all ranks. Schedules do not move on then.
  [[nodiscard]] bool optimizer_step_was_skipped() const noexcept { return !gradient_state_->skipped.empty(); }
  /// The gradient scaler, which counts the last step as over: to be asked behind the step of its last optimizer. Null
  /// where losses are not scaled.
  [[nodiscard]] const optim::GradScaler* scaler();
  /// For programs whose checkpoints are a run::Run's instead of save_state()'s:
  /// `run.checkpoints().add_state(*accelerator.scaler_state())`.
  /// @return  Nothing where losses are not scaled. Used while this object lives.
  [[nodiscard]] std::optional<run::KeptState> scaler_state();

  /// While the returned object lives, operations compute in the options' precision.
  [[nodiscard]] autograd::Autocast autocast() const noexcept {
    has_autocast_begun_ = true;
    return autograd::Autocast(*options_.mixed_precision);
  }

  /// The rows of all ranks for the batch that a prepared loader has handed out last, in the order of its samples as one
  /// process would have had them, without those of repeated samples. Where ranks have unequal batches, too. To be
  /// called in that loader's loop; in nested loops it means the innermost one that is running. Collective.
  /// @param tensor  [n, ...] for a batch of n samples on this rank: a prediction per sample, for example.
  /// @return        [N, ...] for the N samples of all ranks.
  /// @throws ContractError  No prepared loader is being iterated, or the tensor has another number of rows.
  [[nodiscard]] Tensor gather_for_metrics(const Tensor& tensor) const;

  /// Loops over a loader whose ranks may have different numbers of batches (even_batches = false): ranks without data
  /// get empty batches until none has any, and every target counts alike in the gradients. Batches are in host memory,
  /// where targets are counted.
  template <typename Model>
  [[nodiscard]] UnevenInputs join_uneven_inputs(const AcceleratedModel<Model>& model, AcceleratedLoader& loader) {
    return UnevenInputs(*gradient_state_, model.ddp(), loader);
  }

  /// The loader, whose next iteration begins behind the epoch's first `batches` batches, without loading them.
  /// @throws ContractError  Not fewer than the epoch has.
  AcceleratedLoader& skip_first_batches(AcceleratedLoader& loader, std::int64_t batches) const {
    loader.skip_first(batches);
    return loader;
  }

  /// The module itself, without what averages its gradients.
  template <typename Model>
  [[nodiscard]] Model& unwrap_model(const AcceleratedModel<Model>& model) const noexcept {
    return *model;
  }

  /// Random numbers that differ between ranks and are saved with them.
  [[nodiscard]] RandomState& random() noexcept { return random_; }

  /// Saves `object` with every checkpoint: rank 0's state is everybody's. @param object  Outlives the last save.
  void register_for_checkpointing(Checkpointable auto& object) {
    const std::size_t own = scaler_ ? 1 : 0;
    saved_.of_job.push_back(kept_state_of(concat("object_", saved_.of_job.size() - own), object));
  }

  /// Saves models, optimizers, schedules, samplers' positions, the gradient scaler, registered objects, and random() of
  /// every rank, as project_dir/checkpoints/step_N, where N counts the checkpoints. It is complete and has been read
  /// back before the oldest of more than total_limit is removed. Collective.
  /// @return  The checkpoint's folder. @throws IoError  On all ranks alike; earlier checkpoints are untouched.
  /// @throws ContractError  Between the micro-batches of a step, whose gradients are not saved.
  std::filesystem::path save_state();

  /// Continues where save_state() was called: at the same number of ranks bit for bit, at another one with the same
  /// samples in the same order (with the same total batch size), and with fresh random() on every rank. Collective.
  /// @param path  A checkpoint, or a folder of them; empty: the newest one of project_dir that verifies.
  /// @return      What was read. @pre  The same objects are prepared and registered, and no step has begun.
  /// @throws  As load_objects().
  LoadedCheckpoint load_state(const std::filesystem::path& path = {});

  /// Makes the trackers that log_with names, in project_dir/logs/project_name, and writes config.json there. On the
  /// main process; on the others nothing happens. @param config  What the training was asked to do.
  /// @throws UsageError, IoError  As make_tracker().
  void init_trackers(const std::string& project_name, const nlohmann::json& config = nlohmann::json::object());
  /// Gives the values to all trackers, on the main process. One that cannot write (the disk is full) loses them: a
  /// warning says so, and the training goes on. @param step  That they belong to.
  void log(const Scalars& values, std::int64_t step);
  /// Closes the trackers; log() does nothing any more. Waits for all ranks. Collective.
  void end_training();

  /// Records what this rank does, step by step, until the returned object ends, which writes one trace for each rank:
  /// `const auto profile = accelerator.profile();`. A program chooses the steps that are recorded by where it calls
  /// this (Accelerate's schedule_option). @throws  As Profile.
  [[nodiscard]] Profile profile(const ProfileOptions& options = {}) {
    const bool is_left_open = options.output_trace_dir.empty();
    return {gradient_state_, process_group(),
            is_left_open ? options_.project_dir / "profile" : options.output_trace_dir};
  }

  /// Forgets everything that has been prepared and registered, and gives unused memory back to the system. The handles
  /// and what they were made of are the caller's to destroy, before this call.
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

  AcceleratorOptions options_;               // mixed_precision is set
  mutable bool has_autocast_begun_ = false;  // or a warning has said that it has not
  std::shared_ptr<GradientState> gradient_state_ = std::make_shared<GradientState>();
  RandomState random_;
  std::unique_ptr<optim::GradScaler> scaler_;  // null: none
  SavedObjects saved_;
  std::vector<std::unique_ptr<Tracker>> trackers_;  // on the main process
  std::set<std::string> tracking_errors_;           // that have been warned of
  std::optional<std::int64_t> next_save_;  // the number of the next checkpoint; unset: behind those that are there
};

}  // namespace lockstep::accelerate
