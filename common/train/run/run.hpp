#pragma once
/// @file
/// What surrounds a training loop: run folder, progress, metrics, checkpoints, report.
#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "autograd/variable.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "nn/module.hpp"
#include "optim/optimizer.hpp"
#include "run/checkpoints.hpp"
#include "run/description.hpp"
#include "run/fault_injector.hpp"
#include "run/launcher_status.hpp"
#include "run/option_list.hpp"
#include "run/ranks.hpp"
#include "run/run_files.hpp"
#include "run/run_options.hpp"
#include "run/step.hpp"
#include "run/step_log.hpp"
#include "run/stop_vote.hpp"

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// One training run, on every rank that takes part, whatever the model and the loss. It decides nothing about training;
/// it counts, times, records and saves, in a run folder, a step log and checkpoints. All of it is called on all ranks,
/// in the same order: printing, saving and writing happen on rank 0.
///
/// Order of calls: resume; per step begin_step, per micro-batch enter(kForward) and enter(kBackward), enter(kUpdate),
/// end_step, then what is due; finish. TrainingLoop does what is the same in most programs. Thread safety: none.
class Run {
 public:
  /// A run of this process alone. Makes the run folder and prints the banner. From here on Ctrl-C ends the loop between
  /// two steps.
  /// @throws IoError        The run folder cannot be made.
  /// @param options  RunOptions, or the struct of a program that has options of its own.
  /// @throws UsageError     The batch does not divide by the ranks.
  /// @throws FormatError    There are fewer samples than in a batch.
  template <std::derived_from<RunOptions> Options>
  Run(const Options& options, const RunSummary& facts) : Run(options, to_json(options), facts, nullptr) {}
  /// A run of all ranks of `group`, where rank 0 makes the folder and prints. The group's collectives are recorded.
  /// @param group  Outlives the run.
  /// @throws MismatchError  Beside the above: ranks would resume different runs.
  template <std::derived_from<RunOptions> Options>
  Run(const Options& options, const RunSummary& facts, comm::ProcessGroup& group)
      : Run(options, to_json(options), facts, &group) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] const RunOptions& options() const noexcept { return options_; }                   ///< As given.
  [[nodiscard]] const Ranks& ranks() const noexcept { return ranks_; }                            ///< Who takes part.
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return files_.folder(); }  ///< The run's folder.
  [[nodiscard]] const StepLog& log() const noexcept { return log_; }  ///< What was measured; spans of one's own.
  [[nodiscard]] Checkpoints& checkpoints() noexcept { return checkpoints_; }  ///< To save more with them.

  /// Updates done: inside a step, its index from 0.
  [[nodiscard]] std::int64_t step() const noexcept { return log_.step(); }
  [[nodiscard]] std::int64_t last_step() const noexcept {
    return log_.last_step();
  }  ///< Updates of the whole training.
  /// All updates are done, or somebody wants the run to stop. The same on all ranks.
  [[nodiscard]] bool is_finished() const noexcept { return step() >= last_step() || stop_.is_stopping(); }

  /// With --resume, continues exactly where the run's newest checkpoint, or the one named, was saved; else only does
  /// --export-initial.
  /// @throws IoError, FormatError, MismatchError  As load_training().
  void resume(nn::Module& model, optim::Optimizer& optimizer, data::Sampler& sampler);

  /// Begins a step with its forward phase.
  /// @param batch           May be empty where other ranks have data.
  /// @param loader_waiting  loader.time_waited().
  /// @param of              Whose samples the batch holds, so that each counts once.
  /// @return  --accumulation-steps parts of `batch` as equal as can be, fewer where it has fewer samples.
  [[nodiscard]] std::vector<MicroBatch> begin_step(const data::Batch& batch, std::chrono::nanoseconds loader_waiting,
                                                   BatchOf of = BatchOf::kThisRank);
  /// Ends the running phase of the step and begins `phase`.
  void enter(Phase phase) { log_.clock().enter(phase); }
  /// The loss as a number. @throws Error  Not finite: names rank and step, what to try, and the last checkpoint with
  /// finite losses with the command that continues from it; on the other ranks the next collective throws the same.
  [[nodiscard]] double require_finite(const autograd::Variable& loss) const;
  /// The same of a number: if the gradient is not finite, the optimizer must not step.
  /// @param what  It is, in the message.
  void require_finite(double value, const char* what = "norm of the gradient") const;
  /// Ends the step. Several ranks agree here on whether to stop.
  void end_step(const StepResult& result);

  /// Whether this step ends with an evaluation.
  [[nodiscard]] bool validation_is_due();
  /// @param loss  Of that evaluation, in the unit of the training loss.
  void set_evaluation(double loss) { set_evaluation(Evaluation{.loss = loss}); }
  /// The same with further scores, which metrics.jsonl and the report have too.
  void set_evaluation(const Evaluation& evaluation) { log_.set_evaluation(evaluation); }
  /// Shows the progress line and writes the step to metrics.jsonl.
  void print_step() { log_.print(); }
  /// Whether this step ends with a checkpoint.
  [[nodiscard]] bool checkpoint_is_due() const;
  /// Saves a checkpoint, atomically; with --async-save the file is written while training goes on. After a validation
  /// loss that is not finite it saves nothing and logs a warning: the newest checkpoint stays the last sound one.
  /// @throws IoError  The disk failed (with --async-save: in the save before), or another process saves this run's
  ///                  checkpoints; earlier ones are untouched.
  void save(const nn::Module& model, const optim::Optimizer& optimizer, const data::Sampler& sampler) {
    checkpoints_.save(model, optimizer, sampler);
  }

  /// If training is complete, RunSummary::wants_sample, and the last validation loss, if one was measured, is finite:
  /// has rank 0 make a text, for the report and the end of the output.
  void show_sample(const std::function<std::string()>& generate);

  /// Waits for the last checkpoint, writes the trace of every rank and the report (rank 0), and prints how it went.
  /// What of trace and report cannot be written is logged.
  /// @return  The program's exit status: 0; 130 where Ctrl-C or SIGHUP stopped the run; 75 (kRequeueExitCode) on all
  ///          ranks where SIGTERM or the signal of LOCKSTEP_PREEMPT_SIGNAL to one of them did and steps are left.
  [[nodiscard]] int finish();

 private:
  Run(const RunOptions& options, nlohmann::json saved_options, const RunSummary& facts, comm::ProcessGroup* group);

  RunOptions options_;
  RunSummary facts_;
  Ranks ranks_;
  StepLog log_;
  FaultInjector faults_;
  StopVote stop_;
  RunFiles files_;
  Checkpoints checkpoints_;
  LauncherStatus status_;
  std::string sample_;
};

}  // namespace lockstep::run
