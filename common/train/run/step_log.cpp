#include "run/step_log.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "base/terminal.hpp"
#include "comm/process_group.hpp"
#include "run/rank_summary.hpp"

namespace lockstep::run {
namespace {

constexpr std::int64_t kPlainLines = 20;  // approximate number of lines per run if they are not redrawn
constexpr std::size_t kRecordedSpans = 20'000;

// The samples of the global batch in the order of a single process: sample i of rank r is number
// i * world_size + r. Ranks whose samples are counted elsewhere leave gaps.
std::vector<std::int64_t> all_sample_ids(std::span<const std::int64_t> own, std::int64_t batch_size,
                                         const Ranks& ranks) {
  const auto rank = static_cast<std::size_t>(ranks.rank()), world_size = static_cast<std::size_t>(ranks.world_size());
  const std::int64_t ranks_per_share = ranks.world_size() / ranks.data_ranks();
  std::vector<std::int64_t> places(static_cast<std::size_t>(batch_size * ranks_per_share));  // id + 1; 0: no sample
  for (std::size_t i = 0; i < own.size(); ++i) places.at(i * world_size + rank) = own[i] + 1;
  ranks.group()->all_reduce(comm::host_buffer(std::span(places))).synchronize();
  std::erase(places, 0);
  for (std::int64_t& id : places) --id;
  return places;
}

// Exchanges all ranks' data at the end of a step in one message. Returns the sum of their votes.
double exchange(StepMetrics& step, double vote, double own_peak_mib, const Ranks& all) {
  const auto own = static_cast<std::size_t>(all.rank()), ranks = static_cast<std::size_t>(all.world_size());
  std::vector<double> sums(2 + 2 * ranks);
  sums[0] = vote;
  sums[1] = static_cast<double>(step.count);
  sums[2 + own] = step.own_time().count();
  sums[2 + ranks + own] = own_peak_mib;
  all.sum(sums);
  step.count = static_cast<std::int64_t>(sums[1]);
  const auto own_times = sums.begin() + 2, peaks = own_times + all.world_size();
  step.slowest_rank = static_cast<int>(std::max_element(own_times, peaks) - own_times);
  step.peak_memory_mib.assign(peaks, sums.end());
  return sums[0];
}

// The rank that was slowest most often.
int slowest_of(std::span<const StepMetrics> steps) {
  std::map<int, int> times;
  for (const StepMetrics& step : steps) ++times[step.slowest_rank];
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

}  // namespace

StepLog::StepLog(const StepLogOptions& options, const Ranks& ranks)
    : options_(options),
      ranks_(ranks),
      recorder_(std::make_shared<trace::Recorder>(ranks.rank(), kRecordedSpans)),
      clock_(*recorder_),
      printer_(std::cout, detect_progress_style(), options.last_step / kPlainLines,
               terminal_has_colours() ? ProgressPrinter::Bar::kColoured : ProgressPrinter::Bar::kNone) {}

void StepLog::resume(const std::filesystem::path& metrics, std::int64_t step, Device device) {
  first_step_ = step_ = step;
  device_ = device;
  begin_ = trace::Clock::now();
  if (!ranks_.is_main()) return;
  if (options_.has_tensorboard) {
    const bool is_new = step_ == 0;
    trackers_.add(make_tensorboard_tracker(metrics.parent_path(), is_new ? std::nullopt : std::optional(step_ + 1)));
  }
  const std::optional<StepMetrics>& last = file_.emplace(metrics, step_).last_kept();
  if (!last || last->step != step_) return;
  // A run with no steps left ends with the numbers of its last step.
  metrics_ = *last;
  if (last->validation_loss) evaluation_ = Evaluation{.loss = *last->validation_loss, .scores = last->scores};
}

void StepLog::begin(const data::Batch& batch, std::chrono::nanoseconds loader_waiting, BatchOf of) {
  metrics_ = {};
  batch_of_ = of;
  const bool is_counted_elsewhere = of == BatchOf::kCountedElsewhere || (of == BatchOf::kAllRanks && !ranks_.is_main());
  metrics_.unit = options_.tokens_per_sample > 0 ? Unit::kTokens : Unit::kSamples;
  metrics_.count = is_counted_elsewhere ? 0 : batch.size() * std::max<std::int64_t>(options_.tokens_per_sample, 1);
  if (options_.logs_batches && batch.size() > 0 && of != BatchOf::kCountedElsewhere) {
    const auto sample_ids = batch.sample_ids.span<std::int64_t>();
    metrics_.sample_ids.assign(sample_ids.begin(), sample_ids.end());
  }
  clock_.begin(step_ + 1, loader_waiting);
}

double StepLog::end(const StepResult& result, double vote) {
  clock_.end(metrics_);
  if (result.exposed_communication) clock_.record_wait(*result.exposed_communication);
  metrics_.step = ++step_;
  metrics_.epoch = result.epoch;
  metrics_.loss = result.loss;
  metrics_.gradient_norm = result.gradient_norm;
  // If a gradient scaler has skipped the update, there is no norm to show.
  if (!std::isfinite(result.gradient_norm.value_or(0))) metrics_.gradient_norm.reset();
  metrics_.learning_rate = result.learning_rate;
  metrics_.exposed_communication = result.exposed_communication;
  if (options_.logs_batches && ranks_.group() != nullptr && batch_of_ != BatchOf::kAllRanks)
    metrics_.sample_ids = all_sample_ids(metrics_.sample_ids, options_.batch_size, ranks_);
  const double votes = exchange(metrics_, vote, peak_memory_mib(device_), ranks_);
  history_.add(metrics_);
  return votes;
}

void StepLog::set_evaluation(const Evaluation& evaluation) {
  evaluation_ = evaluation;
  metrics_.validation_loss = history_.last().validation_loss = evaluation.loss;
  metrics_.scores = history_.last().scores = evaluation.scores;
  clock_.end_aside("validate", trace::Category::kOther);
}

ProgressReport StepLog::progress() const {
  // Rates are means over the last steps, so that the line does not flicker.
  const std::span<const StepMetrics> recent = history_.recent();
  StepMetrics::Milliseconds duration{}, exposed{}, data_wait{};
  std::int64_t count = 0;
  for (const StepMetrics& step : recent) {
    duration += step.duration;
    exposed += step.exposed_communication.value_or(StepMetrics::Milliseconds(0));
    data_wait += step.data_wait;
    count += step.count;
  }
  ProgressReport progress;
  progress.step = step_;
  progress.last_step = last_step();
  progress.loss = metrics_.loss;
  if (evaluation_) progress.validation_loss = evaluation_->loss;
  progress.unit = metrics_.unit;
  progress.count_per_s = static_cast<double>(count) / std::max(duration.count(), 1e-6) * 1e3;
  progress.data_wait = data_wait / static_cast<double>(std::max<std::size_t>(recent.size(), 1));
  progress.peak_memory_mib = std::ranges::max(metrics_.peak_memory_mib);
  if (metrics_.exposed_communication) {
    progress.slowest_rank = slowest_of(recent);
    progress.exposed_communication = exposed / static_cast<double>(recent.size());
    progress.exposed_share = exposed / std::max(duration, StepMetrics::Milliseconds(1e-6));
  }
  progress.time_left = elapsed() / static_cast<double>(step_ - first_step_) * static_cast<double>(last_step() - step_);
  return progress;
}

void StepLog::print() {
  if (!ranks_.is_main()) return;
  if (file_) file_->write(metrics_);
  if (options_.has_tensorboard) trackers_.log(scalars_of(metrics_), step_);
  printer_.show(progress(),
                metrics_.validation_loss ? ProgressPrinter::Keep::kPermanent : ProgressPrinter::Keep::kTransient);
}

bool StepLog::has_diverged() const noexcept { return evaluation_ && !std::isfinite(evaluation_->loss); }

bool StepLog::is_step_validated() const noexcept {
  const bool is_of_this_step = history_.empty() || history_.last().validation_loss;  // empty: taken over by resume()
  return evaluation_ && is_of_this_step && !has_diverged();
}

}  // namespace lockstep::run
