#pragma once
/// @file
/// Everything around a training loop: run folder, progress, metrics, checkpoints, report.
#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
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
#include "run/matmul_algorithms.hpp"
#include "run/option_list.hpp"
#include "run/ranks.hpp"
#include "run/run_files.hpp"
#include "run/run_options.hpp"
#include "run/step.hpp"
#include "run/step_hooks.hpp"
#include "run/step_log.hpp"
#include "run/stop_vote.hpp"

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// The ranks that compute a generated text, which rank 0 shows.
enum class SampleRanks { kMain, kAll };

/// One training run, on every rank, for any model and loss. It makes no training decisions; it counts, times, records
/// and saves, using a run folder, a step log and checkpoints. All ranks call every function in the same order; only
/// rank 0 prints, saves and writes.
///
/// Order of calls: resume; per step begin_step, per micro-batch enter(kForward) and enter(kBackward), enter(kUpdate),
/// end_step, then evaluation and checkpoint if due; finish. TrainingLoop does this for most programs. Thread safety:
/// none.
class Run {
 public:
  /// A run of this process alone. Makes the run folder and prints the banner. From here on Ctrl-C ends the loop between
  /// two steps.
  /// @param options  RunOptions, or a program's struct derived from it.
  /// @throws IoError        The run folder cannot be made.
  /// @throws UsageError     The batch is not divisible by the number of ranks that share it.
  /// @throws FormatError    There are fewer samples than in a batch.
  template <std::derived_from<RunOptions> Options>
  Run(const Options& options, const RunSummary& facts) : Run(options, to_json(options), facts, Ranks(nullptr)) {}
  /// A run of all ranks of `group`; rank 0 makes the folder and prints. The group's collectives are recorded.
  /// @param group  Must outlive the run.
  /// @throws MismatchError  Ranks would resume different runs. Also throws as the constructor above.
  template <std::derived_from<RunOptions> Options>
  Run(const Options& options, const RunSummary& facts, comm::ProcessGroup& group)
      : Run(options, to_json(options), facts, Ranks(&group)) {}
  /// The same for the ranks of `hooks`, which does around each step what a loop written for one process does not do.
  template <std::derived_from<RunOptions> Options>
  Run(const Options& options, const RunSummary& facts, const StepHooks& hooks)
      : Run(options, to_json(options), facts, Ranks(&hooks.group), &hooks) {}
  /// The same for ranks of which several compute the same samples, each with a part of the model.
  /// @param data_ranks  Into how many shares a batch is divided: all ranks but one for each share pass
  ///                    BatchOf::kCountedElsewhere to begin_step().
  /// @throws ContractError  Not a divisor of the number of ranks.
  template <std::derived_from<RunOptions> Options>
  Run(const Options& options, const RunSummary& facts, comm::ProcessGroup& group, int data_ranks)
      : Run(options, to_json(options), facts, Ranks(&group, data_ranks)) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] const RunOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Ranks& ranks() const noexcept { return ranks_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return files_.folder(); }
  /// For measurements, and to record further spans.
  [[nodiscard]] const StepLog& log() const noexcept { return log_; }
  [[nodiscard]] Checkpoints& checkpoints() noexcept { return checkpoints_; }  ///< To save more state with them.

  /// Updates done; during a step, its index from 0.
  [[nodiscard]] std::int64_t step() const noexcept { return log_.step(); }
  /// Updates of the whole training run.
  [[nodiscard]] std::int64_t last_step() const noexcept { return log_.last_step(); }
  /// True if all updates are done or the run was asked to stop. The same on all ranks.
  [[nodiscard]] bool is_finished() const noexcept { return step() >= last_step() || stop_.is_stopping(); }

  /// With --resume, continues exactly from the run's newest checkpoint, or the one named; else only does
  /// --export-initial. If that fails, the folder of a new run is removed.
  /// @throws IoError, FormatError, MismatchError  As load_training().
  void resume(nn::Module& model, optim::Optimizer& optimizer, data::Sampler& sampler);
  /// The same for ranks that hold parts of the model: each reads its own elements of whole tensors.
  /// @param model      This rank's parts, in the order of the file. Their slices may not change until the run ends.
  /// @param optimizer  Its state is divided like its parameters.
  /// @throws MismatchError  Also if an element has no owner or two; on all ranks.
  void resume(std::vector<NamedPart> model, optim::Optimizer& optimizer, data::Sampler& sampler);

  /// Begins a step with its forward phase.
  /// @param batch           May be empty if other ranks have data.
  /// @param loader_waiting  loader.time_waited().
  /// @param of              Whose samples the batch holds, so that each is counted once.
  /// @return  The batch in --accumulation-steps parts, as equal as possible; fewer if it has fewer samples.
  [[nodiscard]] std::vector<MicroBatch> begin_step(const data::Batch& batch, std::chrono::nanoseconds loader_waiting,
                                                   BatchOf of = BatchOf::kThisRank);
  /// Ends the current phase of the step and begins `phase`.
  void enter(Phase phase) { log_.clock().enter(phase); }
  /// The loss as a number. @throws Error  Not finite: names rank and step, what to try, the last checkpoint with finite
  /// losses, and the command that continues from it; on the other ranks the next collective throws the same error.
  [[nodiscard]] double require_finite(const autograd::Variable& loss) const;
  /// The same for the norm of the gradient: if it is not finite, the optimizer must not step.
  void require_finite(double gradient_norm) const;
  /// The same for another number. @param what  Names it in the message.
  void require_finite(double value, const char* what) const;
  /// Ends the step. The ranks agree here on whether to stop.
  void end_step(const StepResult& result);

  /// True if this step ends with an evaluation.
  [[nodiscard]] bool validation_is_due();
  /// @param loss  Of the evaluation, in the unit of the training loss.
  void set_evaluation(double loss) { set_evaluation(Evaluation{.loss = loss}); }
  /// The same with further scores for metrics.jsonl and the report.
  void set_evaluation(const Evaluation& evaluation) { log_.set_evaluation(evaluation); }
  /// Shows the progress line and writes the step to metrics.jsonl. Makes the run folder again if it was removed.
  void print_step();
  /// True if this step ends with a checkpoint.
  [[nodiscard]] bool checkpoint_is_due() const;
  /// Saves a checkpoint, atomically; with --async-save the file is written while training goes on. If the validation
  /// loss is not finite, saves nothing and logs a warning, so that the newest checkpoint stays sound.
  /// @throws IoError  The disk failed (with --async-save: in the previous save), or another process saves this run's
  ///                  checkpoints; earlier ones are untouched.
  void save(const nn::Module& model, const optim::Optimizer& optimizer, const data::Sampler& sampler) {
    checkpoints_.save(model, optimizer, sampler);
  }
  /// The same for parts, as for resume(): rank 0 writes whole tensors, the files that one process would write.
  /// @throws PeerFailedError  On the other ranks, if rank 0 could not save; quotes its error.
  /// @cost  Rank 0: 8 MiB of memory; each rank sends the elements that it owns. With --async-save, only the disk is
  ///        waited for in the background.
  void save(std::vector<NamedPart> model, const optim::Optimizer& optimizer, const data::Sampler& sampler) {
    checkpoints_.save(std::move(model), optimizer, sampler);
  }

  /// Has rank 0 generate a text for the report and the end of the output, if training is complete,
  /// RunSummary::wants_sample is set, and the last validation loss, if any, is finite.
  /// @param ranks  Which ranks call `generate`: all of them if the model is not whole on rank 0.
  void show_sample(const std::function<std::string()>& generate, SampleRanks ranks = SampleRanks::kMain);

  /// Waits for the last checkpoint, writes each rank's trace and (on rank 0) the report, and prints the outcome.
  /// Failures to write trace and report are logged.
  /// @return  The program's exit status: 0; 130 if Ctrl-C or SIGHUP stopped the run; 75 (kRequeueExitCode) on all ranks
  ///          if SIGTERM or the signal of LOCKSTEP_PREEMPT_SIGNAL to one of them did and steps are left.
  [[nodiscard]] int finish();

 private:
  Run(const RunOptions& options, nlohmann::json saved_options, const RunSummary& facts, const Ranks& ranks,
      const StepHooks* hooks = nullptr);

  RunOptions options_;
  RunSummary facts_;
  Ranks ranks_;
  StepLog log_;
  FaultInjector faults_;
  StopVote stop_;
  MatmulAlgorithms algorithms_;  // before the files: if it fails, there is no folder yet
  RunFiles files_;
  Checkpoints checkpoints_;
  LauncherStatus status_;
  std::optional<StepHooks> hooks_;
  std::string sample_;
};

}  // namespace lockstep::run
