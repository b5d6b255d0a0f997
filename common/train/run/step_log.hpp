#pragma once
/// @file
/// What a run measures of its steps.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/dataset.hpp"
#include "device/device.hpp"
#include "run/metrics.hpp"
#include "run/progress_line.hpp"
#include "run/ranks.hpp"
#include "run/step.hpp"
#include "run/step_clock.hpp"
#include "trace/recorder.hpp"

namespace lockstep::run {

/// What is measured, and of how many steps.
struct StepLogOptions {
  std::int64_t last_step = 0;          ///< Steps of the whole training.
  std::int64_t batch_size = 0;         ///< Samples per step over all ranks.
  std::int64_t tokens_per_sample = 0;  ///< 0: samples are counted, not tokens.
  bool logs_batches = false;           ///< The samples of each step are logged too.
};

/// Times and counts a run's steps on every rank, and shows them on the main rank: on the progress line and in
/// metrics.jsonl. Order of calls: resume; per step begin, end, set_evaluation if there is one, print. Those of begin,
/// end and print are the same on all ranks. Thread safety: none.
class StepLog {
 public:
  /// @throws FormatError  As detect_progress_style().
  StepLog(const StepLogOptions& options, const Ranks& ranks);

  /// Goes on after `step` steps. The main rank opens the file `metrics`, and takes over its last step.
  /// @param device  Whose memory is measured.
  void resume(const std::filesystem::path& metrics, std::int64_t step, Device device);
  /// @param loader_waiting  As StepClock::begin().
  void begin(const data::Batch& batch, std::chrono::nanoseconds loader_waiting, BatchOf of);
  /// Ends the step; the ranks exchange their measurements. Collective.
  /// @param vote  Of this rank: StopVote::vote().
  /// @return      The sum of all ranks' votes.
  [[nodiscard]] double end(const StepResult& result, double vote);
  /// Of the step that has just ended. Ends a span that clock().begin_aside() has begun.
  void set_evaluation(const Evaluation& evaluation);
  /// Shows the step that has just ended, on the main rank.
  void print();
  /// Ends the progress line, before other output.
  void end_line() { printer_.end_line(); }

  [[nodiscard]] std::int64_t step() const noexcept { return step_; }                    ///< Steps done.
  [[nodiscard]] std::int64_t first_step() const noexcept { return first_step_; }        ///< Done before this process.
  [[nodiscard]] std::int64_t last_step() const noexcept { return options_.last_step; }  ///< Of the whole training.
  /// The step that runs or has just ended.
  [[nodiscard]] const StepMetrics& current() const noexcept { return metrics_; }
  [[nodiscard]] std::span<const StepMetrics> history() const noexcept { return history_; }  ///< Of this process.
  /// The last one; empty: none.
  [[nodiscard]] const std::optional<Evaluation>& evaluation() const noexcept { return evaluation_; }
  /// Whether the last validation loss is not finite.
  [[nodiscard]] bool has_diverged() const noexcept;
  /// Whether the weights as they are now have had a finite validation loss.
  [[nodiscard]] bool is_step_validated() const noexcept;
  /// Since this process has begun its first step, or been made.
  [[nodiscard]] std::chrono::duration<double> elapsed() const { return trace::Clock::now() - begin_; }

  [[nodiscard]] StepClock& clock() noexcept { return clock_; }  ///< Times the phases of the step.
  /// Has the spans of this rank. Never null.
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
  std::int64_t step_ = 0;
  std::int64_t first_step_ = 0;
  StepMetrics metrics_;
  BatchOf batch_of_ = BatchOf::kThisRank;  // of that step
  std::vector<StepMetrics> history_;
  std::optional<Evaluation> evaluation_;
  trace::Clock::time_point begin_ = trace::Clock::now();
};

}  // namespace lockstep::run
