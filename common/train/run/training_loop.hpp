#pragma once
/// @file
/// The loop of a training program whose body is one update.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "data/data_loader.hpp"
#include "nn/module.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"
#include "run/run.hpp"
#include "run/step.hpp"

namespace lockstep::run {

/// A run's remaining steps as a range of batches: what a run owes before and after an update happens between two passes
/// of the loop. That is the epochs, evaluations, progress, metrics and checkpoints.
/// ```cpp
/// run::Run run(options, facts);
/// run::TrainingLoop loop(run, model, optimizer, loader);  // resumes
/// for (const data::Batch& batch : loop) {
///   optimizer.zero_grad();
///   autograd::Variable loss = autograd::cross_entropy(model.forward(autograd::Variable(batch.inputs)), batch.targets);
///   loss.backward();
///   optimizer.step(loop.learning_rate());
///   loop.end_step(loss.value().item());
/// }
/// return run.finish();
/// ```
/// The body may call run.enter(), so that the report can tell forward, backward and update apart. Several ranks go
/// through their loops together. A program that needs another order calls Run itself. Thread safety: none.
class TrainingLoop {
 public:
  /// Resumes where the options say so: Run::resume(). All outlive the loop.
  /// @param loader  Its batches have --batch-size samples, the same on every rank, which takes its part of them; or
  /// each
  ///                rank's loader has batches of its share.
  /// @throws ContractError  Batches of another size.
  /// @throws  As Run::resume().
  TrainingLoop(Run& run, nn::Module& model, optim::Optimizer& optimizer, data::DataLoader& loader);

  /// Has the model evaluated every --validate-every steps and at the end.
  /// @param evaluate  Called on all ranks, between two batches; its numbers are the same on all.
  void evaluate_with(std::function<Evaluation()> evaluate) { evaluate_ = std::move(evaluate); }

  /// Of this step, as --learning-rate and its schedule say.
  [[nodiscard]] double learning_rate() const { return schedule_.at(run_.step()); }

  /// The last call of the loop's body.
  /// @param loss           Mean over the global batch.
  /// @param gradient_norm  Before clipping, where it was measured.
  /// @throws Error  One of them is not finite: as Run::require_finite().
  void end_step(double loss, std::optional<double> gradient_norm = std::nullopt);

  /// Single-pass: a batch is valid until the next increment.
  class Iterator {
   public:
    /// For std::iterator_traits.
    using iterator_category = std::input_iterator_tag;
    /// For std::iterator_traits.
    using value_type = data::Batch;
    /// For std::iterator_traits.
    using difference_type = std::ptrdiff_t;
    /// For std::iterator_traits.
    using pointer = const data::Batch*;
    /// For std::iterator_traits.
    using reference = const data::Batch&;

    /// The batch of this step.
    [[nodiscard]] const data::Batch& operator*() const { return **loop_->batch_; }
    /// Does what is due after the step, and begins the next one unless the run is finished.
    /// @throws ContractError  The body has not called end_step(). @throws  As Run::save() and the dataset.
    Iterator& operator++() {
      loop_->conclude_step();
      loop_->begin_step();
      return *this;
    }
    /// True once the run is finished.
    bool operator==(std::default_sentinel_t /*end*/) const noexcept { return !loop_->batch_; }

   private:
    friend class TrainingLoop;
    explicit Iterator(TrainingLoop& loop) noexcept : loop_(&loop) {}
    TrainingLoop* loop_;
  };

  /// Begins the first of the remaining steps. @pre  Called once.
  [[nodiscard]] Iterator begin();
  /// What the iterator is compared with.
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

 private:
  void begin_step();
  void conclude_step();

  Run& run_;
  nn::Module& model_;
  optim::Optimizer& optimizer_;
  data::DataLoader& loader_;
  BatchOf batch_of_;
  optim::Schedule schedule_;
  std::function<Evaluation()> evaluate_;
  std::optional<data::DataLoader::Iterator> batch_;  // empty: the run is finished
  std::int64_t begun_ = 0;                           // the step that runs or has just ended, from 1
};

}  // namespace lockstep::run
