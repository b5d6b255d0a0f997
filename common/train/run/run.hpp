#pragma once
/// @file
/// What surrounds a training loop: run folder, progress, metrics, checkpoints, report.
#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/variable.hpp"
#include "comm/training_status.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "device/device.hpp"
#include "nn/module.hpp"
#include "optim/optimizer.hpp"
#include "run/description.hpp"
#include "run/fault_injector.hpp"
#include "run/metrics.hpp"
#include "run/option_list.hpp"
#include "run/progress_line.hpp"
#include "run/run_options.hpp"
#include "run/step.hpp"
#include "run/step_clock.hpp"
#include "run/stop_signal.hpp"
#include "run/training_state.hpp"
#include "trace/recorder.hpp"

namespace lockstep::comm {
class ProcessGroup;
}

namespace lockstep::run {

/// Exit status of a run that Ctrl-C or SIGHUP stopped in good order: 128 + SIGINT, as shells count. SIGTERM makes it
/// kRequeueExitCode (base/preemption.hpp).
inline constexpr int kInterruptedExitCode = 130;

/// One training run, on every rank that takes part, whatever the model and the loss. It decides nothing about training;
/// it counts, times, records and saves. Printing, saving and writing metrics happen where they are called, so a program
/// with several ranks calls print_step(), save() and set_sample() on rank 0 only. Everything else is called on all
/// ranks, in the same order.
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

  /// Saves something more with every checkpoint, and gives it back in resume(). @pre  Before resume(); on all ranks.
  void keep(KeptState state) { kept_.push_back(std::move(state)); }

  /// With --resume, continues exactly where the run's newest checkpoint, or the one named, was saved; else only does
  /// --export-initial.
  /// @throws IoError, FormatError, MismatchError  As load_training().
  void resume(nn::Module& model, optim::Optimizer& optimizer, data::Sampler& sampler);

  [[nodiscard]] const RunOptions& options() const noexcept { return options_; }  ///< As given.
  [[nodiscard]] int rank() const noexcept { return rank_; }                      ///< 0 for one process alone.
  [[nodiscard]] int world_size() const noexcept { return world_size_; }          ///< 1 for one process alone.
  /// Updates done: inside a step, its index from 0.
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }
  [[nodiscard]] std::int64_t last_step() const noexcept { return last_step_; }  ///< Updates of the whole training.
  /// All updates are done, or somebody wants the run to stop. The same on all ranks.
  [[nodiscard]] bool is_finished() const noexcept { return step_ >= last_step_ || is_stopping_; }

  /// Begins a step with its forward phase.
  /// @param batch           May be empty where other ranks have data.
  /// @param loader_waiting  loader.time_waited().
  /// @param of              Whose samples the batch holds, so that each counts once.
  /// @return  --accumulation-steps parts of `batch` as equal as can be, fewer where it has fewer samples.
  [[nodiscard]] std::vector<MicroBatch> begin_step(const data::Batch& batch, std::chrono::nanoseconds loader_waiting,
                                                   BatchOf of = BatchOf::kThisRank);
  /// Ends the running phase of the step and begins `phase`.
  void enter(Phase phase);
  /// The loss as a number. @throws Error  Not finite: names rank and step, what to try, and the last checkpoint with
  /// finite losses with the command that continues from it; on the other ranks the next collective throws the same.
  [[nodiscard]] double require_finite(const autograd::Variable& loss) const;
  /// The same of a loss that is a number already.
  void require_finite_loss(double loss) const;
  /// @throws Error  Not finite: with such gradients the optimizer must not step.
  void require_finite(double gradient_norm) const;
  /// How to go on where a loss or a gradient of the running step is not finite, as the end of a message: the last
  /// checkpoint with finite losses and the command that continues from it.
  [[nodiscard]] std::string way_back() const;
  /// Ends the step. Several ranks agree here on whether to stop.
  void end_step(const StepResult& result);
  /// @param waited  How long this rank has waited for others in the running step.
  void set_exposed_communication(std::chrono::nanoseconds waited);

  /// Of the step that runs or has just ended.
  [[nodiscard]] const StepMetrics& metrics() const noexcept { return metrics_; }

  /// Whether this step ends with an evaluation.
  [[nodiscard]] bool validation_is_due();
  /// @param loss  Of that evaluation, in the unit of the training loss.
  void set_validation_loss(double loss) { set_evaluation({.loss = loss}); }
  /// The same with further scores, which metrics.jsonl and the report have too.
  void set_evaluation(const Evaluation& evaluation);
  /// Shows the progress line and writes the step to metrics.jsonl.
  void print_step();
  /// Whether this step ends with a comparison of the replicas: every --check-replicas steps and before a checkpoint.
  [[nodiscard]] bool replica_check_is_due() const;
  /// Whether this step ends with a checkpoint.
  [[nodiscard]] bool checkpoint_is_due() const;
  /// Saves a checkpoint, atomically; with --async-save the file is written while training goes on. After a validation
  /// loss that is not finite it saves nothing and logs a warning: the newest checkpoint stays the last sound one.
  /// @throws IoError  The disk failed (with --async-save: in the save before), or another process saves this run's
  ///                  checkpoints; earlier ones are untouched.
  void save(const nn::Module& model, const optim::Optimizer& optimizer, const data::Sampler& sampler);

  /// Training is complete, RunSummary::wants_sample, and the last validation loss, if one was measured, is finite.
  [[nodiscard]] bool sample_is_due() const;
  void set_sample(std::string generated);  ///< A text, for the report and the end of the output.

  /// Waits for the last checkpoint, writes the trace of every rank and the report (rank 0), and prints how it went.
  /// What of trace and report cannot be written is logged.
  /// @return  The program's exit status: 0; 130 where Ctrl-C or SIGHUP stopped the run; 75 (kRequeueExitCode) on all
  ///          ranks where SIGTERM or the signal of LOCKSTEP_PREEMPT_SIGNAL to one of them did and steps are left.
  [[nodiscard]] int finish();

  /// The run's folder; empty on ranks that write nothing.
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  [[nodiscard]] trace::Recorder& recorder() noexcept { return *recorder_; }  ///< For spans of one's own.

 private:
  Run(const RunOptions& options, nlohmann::json saved_options, const RunSummary& facts, comm::ProcessGroup* group);

  void settle_folder();
  void sum_over_ranks(std::span<double> values) const;
  void write_files() const;
  void restore_last_step();
  [[nodiscard]] bool has_diverged() const noexcept;
  [[nodiscard]] bool is_step_validated() const noexcept;
  [[nodiscard]] Outcome outcome() const;
  void gather_step();
  void open_status_file();
  void tell_status();
  [[noreturn]] void give_up(std::string_view what, double value) const;
  [[nodiscard]] ProgressReport progress() const;

  RunOptions options_;
  nlohmann::json saved_options_;  // with what only the program has, and what the run has found
  RunSummary facts_;
  comm::ProcessGroup* group_;  // null: this process alone
  int rank_, world_size_;
  Device device_;  // the model's, known from resume() on
  std::int64_t last_step_;
  std::int64_t step_ = 0;
  std::int64_t first_step_ = 0;  // where this process began
  bool is_stopping_ = false;
  bool is_preempted_ = false;
  std::filesystem::path folder_;
  std::shared_ptr<trace::Recorder> recorder_;
  StepClock clock_;
  FaultInjector faults_;
  StopSignal stop_signal_;
  ProgressPrinter printer_;
  std::optional<comm::TrainingStatusFile> status_file_;  // where a launcher watches
  comm::TrainingStatus status_;
  std::optional<MetricsFile> metrics_file_;  // rank 0 only
  StepMetrics metrics_;                      // of the step that runs or has just ended
  BatchOf batch_of_ = BatchOf::kThisRank;    // of that step
  std::vector<StepMetrics> history_;         // of this process
  std::optional<Evaluation> evaluation_;     // the last one
  std::optional<TrainingSaver> saver_;       // rank 0 only
  std::vector<KeptState> kept_;
  std::chrono::duration<double> longest_save_{};
  std::string sample_;
  trace::Clock::time_point begin_ = trace::Clock::now();
  trace::Clock::time_point aside_begin_{};  // of the validation that runs
};

}  // namespace lockstep::run
