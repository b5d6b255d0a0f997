#pragma once
/// @file
/// The measurements of a run's steps.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "data/dataset.hpp"
#include "device/device.hpp"
#include "run/metrics.hpp"
#include "run/progress_line.hpp"
#include "run/ranks.hpp"
#include "run/step.hpp"
#include "run/step_clock.hpp"
#include "run/step_history.hpp"
#include "run/tracker.hpp"
#include "trace/recorder.hpp"

namespace lockstep::run {

/// Settings of a StepLog.
struct StepLogOptions {
  std::int64_t last_step = 0;          ///< Steps of the whole training run.
  std::int64_t batch_size = 0;         ///< Samples per step over all ranks.
  std::int64_t tokens_per_sample = 0;  ///< 0: samples are counted, not tokens.
  bool logs_batches = false;           ///< Also logs the samples of each step.
  bool has_tensorboard = false;        ///< Also writes event files, next to metrics.jsonl.
};

/// Times and counts a run's steps on every rank, and shows them on the main rank: on the progress line, in
/// metrics.jsonl and, if chosen, in TensorBoard. Order of calls: resume; per step begin, end, set_evaluation if there
/// is one, print. All ranks call begin, end and print in the same order. Thread safety: none.
class StepLog {
 public:
  /// @throws FormatError  As detect_progress_style().
  StepLog(const StepLogOptions& options, const Ranks& ranks);

  /// Continues after `step` steps. On the main rank, opens the file `metrics` and takes over its last step.
  /// @param device  The device whose memory is measured.
  void resume(const std::filesystem::path& metrics, std::int64_t step, Device device);
  /// @param loader_waiting  As StepClock::begin().
  void begin(const data::Batch& batch, std::chrono::nanoseconds loader_waiting, BatchOf of);
  /// Ends the step; the ranks exchange their measurements. Collective.
  /// @param vote  This rank's StopVote::vote().
  /// @return      The sum of all ranks' votes.
  [[nodiscard]] double end(const StepResult& result, double vote);
  /// Adds the evaluation to the step that just ended. Ends the span that clock().begin_aside() began.
  void set_evaluation(const Evaluation& evaluation);
  /// Shows the step that just ended, on the main rank.
  void print();
  /// Ends the progress line, before other output.
  void end_line() { printer_.end_line(); }

  [[nodiscard]] std::int64_t step() const noexcept { return step_; }
  /// Steps done before this process began.
  [[nodiscard]] std::int64_t first_step() const noexcept { return first_step_; }
  [[nodiscard]] std::int64_t last_step() const noexcept { return options_.last_step; }  ///< Of the whole training run.
  /// The current step, or the one that just ended.
  [[nodiscard]] const StepMetrics& current() const noexcept { return metrics_; }
  /// The steps of this process, as StepHistory::steps(): all of them, unless the run is very long.
  [[nodiscard]] std::span<const StepMetrics> history() const noexcept { return history_.steps(); }
  /// The last evaluation; empty: none.
  [[nodiscard]] const std::optional<Evaluation>& evaluation() const noexcept { return evaluation_; }
  /// True if the last validation loss is not finite.
  [[nodiscard]] bool has_diverged() const noexcept;
  /// True if the current weights have a finite validation loss.
  [[nodiscard]] bool is_step_validated() const noexcept;
  /// Since this process began its first step, or since construction.
  [[nodiscard]] std::chrono::duration<double> elapsed() const { return trace::Clock::now() - begin_; }

  /// As given to resume().
  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] StepClock& clock() noexcept { return clock_; }
  /// Holds the spans of this rank. Never null.
  [[nodiscard]] const std::shared_ptr<trace::Recorder>& recorder() const noexcept { return recorder_; }

 private:
  [[nodiscard]] ProgressReport progress() const;

  StepLogOptions options_;
  Ranks ranks_;
  Device device_;
  std::shared_ptr<trace::Recorder> recorder_;
  StepClock clock_;
  ProgressPrinter printer_;
  std::optional<MetricsFile> file_;  // main rank only, from resume() on
  Trackers trackers_;                // likewise
  std::int64_t step_ = 0;
  std::int64_t first_step_ = 0;
  StepMetrics metrics_;
  BatchOf batch_of_ = BatchOf::kThisRank;  // of the current step
  StepHistory history_;
  std::optional<Evaluation> evaluation_;
  trace::Clock::time_point begin_ = trace::Clock::now();
};

}  // namespace lockstep::run
