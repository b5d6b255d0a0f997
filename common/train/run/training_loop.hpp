#pragma once
/// @file
/// The loop of a training program, whose body is one update.
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

/// A run's remaining steps as a range of batches. Between two iterations the loop does the rest of the work: epochs,
/// evaluations, progress, metrics and checkpoints.
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
/// The body may call run.enter(), so that the report can distinguish forward, backward and update. With several ranks,
/// all run their loops in step. A program that needs another order calls Run itself. Thread safety: none.
class TrainingLoop {
 public:
  /// Resumes if the options say so: Run::resume(). All arguments must outlive the loop.
  /// @param loader  Its batches have --batch-size samples, the same on every rank, and each rank takes its part; or
  ///                each rank's loader returns only the rank's share.
  /// @throws ContractError  Batches of another size.
  /// @throws  As Run::resume().
  TrainingLoop(Run& run, nn::Module& model, optim::Optimizer& optimizer, data::DataLoader& loader);

  /// Evaluates the model every --validate-every steps and at the end.
  /// @param evaluate  Called on all ranks, between two batches; must return the same numbers on all.
  void evaluate_with(std::function<Evaluation()> evaluate) { evaluate_ = std::move(evaluate); }

  /// For this step, from --learning-rate and its schedule.
  [[nodiscard]] double learning_rate() const { return schedule_.at(run_.step()); }

  /// Must be the last call of the loop's body.
  /// @param loss           Mean over the global batch.
  /// @param gradient_norm  Before clipping, if it was measured.
  /// @throws Error  One of them is not finite: as Run::require_finite().
  void end_step(double loss, std::optional<double> gradient_norm = std::nullopt);

  /// Single-pass: a batch is valid until the next increment.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = data::Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const data::Batch*;
    using reference = const data::Batch&;

    [[nodiscard]] const data::Batch& operator*() const { return **loop_->batch_; }
    /// Finishes the step, and begins the next one unless the run is finished.
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
  std::int64_t begun_ = 0;                           // the current step, or the one that just ended, from 1
};

}  // namespace lockstep::run
