#include "run/run.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "run/description.hpp"
#include "run/rank_summary.hpp"
#include "run/readable.hpp"
#include "run/report.hpp"
#include "run/run_folder.hpp"
#include "trace/trace_file.hpp"

namespace lockstep::run {
namespace {

constexpr std::int64_t kPlainLines = 20;  // about as many per run where lines are not redrawn
constexpr std::size_t kAveragedSteps = 20;
constexpr std::size_t kRecordedSpans = 20'000;

bool is_multiple(std::int64_t step, std::int64_t interval) { return interval > 0 && step % interval == 0; }

}  // namespace

Run::Run(const TrainOptions& options, const RunFacts& facts, Team team)
    : options_(options),
      facts_(facts),
      team_(std::move(team)),
      last_step_(options.total_steps(facts.training_samples)),
      recorder_(std::make_shared<trace::Recorder>(team_.rank, kRecordedSpans)),
      clock_(*recorder_),
      printer_(std::cout, detect_progress_style(), last_step_ / kPlainLines) {
  options_.require_divisible_batch(team_.world_size);
  settle_folder();
  if (team_.record_to) team_.record_to(recorder_);
  if (team_.rank != 0) return;
  replace_file(folder_ / "options.json", to_json(options_).dump(2) + "\n");
  std::cout << banner(describe(options_, facts_, team_)) + "  run     " + folder_.string() + "\n\n" << std::flush;
}

void Run::settle_folder() {
  if (options_.resume)
    folder_ = *options_.resume;
  else if (team_.rank == 0)
    folder_ = make_run_folder(options_.out, options_.model);
  if (!team_.share) return;
  const std::filesystem::path of_rank_0 = team_.share(folder_.string());
  if (options_.resume && of_rank_0 != folder_) {
    throw MismatchError(concat("rank ", team_.rank, " would resume ", folder_.string(), " but rank 0 ",
                               of_rank_0.string(), ": another run has saved meanwhile; name the folder to --resume"));
  }
  folder_ = of_rank_0;
}

void Run::resume(nn::Module& model, optim::Optimizer& optimizer, data::Sampler& sampler) {
  if (options_.resume) step_ = load_training(checkpoints_of(folder_), model, optimizer, sampler);
  first_step_ = step_;
  begin_ = trace::Clock::now();
  if (team_.rank != 0) return;
  metrics_file_.emplace(folder_ / "metrics.jsonl", step_);
  saver_.emplace(checkpoints_of(folder_), options_).prepare(model, optimizer);
  if (options_.resume)
    std::cout << "resumed at step " << step_ << "\n" << std::flush;
  else if (!options_.export_initial.empty())
    export_weights(options_.export_initial, model);
}

nn::ForwardContext Run::begin_step(const data::Batch& batch, std::chrono::nanoseconds loader_waiting) {
  metrics_ = {};
  metrics_.tokens = batch.inputs.count() * team_.world_size;
  const auto sample_ids = batch.sample_ids.span<std::int64_t>();
  if (options_.log_batches) metrics_.sample_ids.assign(sample_ids.begin(), sample_ids.end());
  clock_.begin(step_ + 1, loader_waiting);
  return {.is_training = true, .seed = options_.seed, .step = step_, .sample_ids = sample_ids};
}

void Run::enter(Phase phase) { clock_.enter(phase); }

double Run::require_finite(const autograd::Variable& loss) const {
  const double value = loss.value().item();
  if (std::isfinite(value)) return value;
  throw Error(concat("rank ", team_.rank, ": the loss is ", std::isnan(value) ? "not a number" : "infinite",
                     " in step ", step_ + 1, "; try a --learning-rate below ", shortest(options_.learning_rate),
                     ", more than ", options_.warmup_steps, " --warmup-steps",
                     options_.clip > 0 ? "" : ", or --clip 1"));
}

void Run::end_step(const StepResult& result) {
  clock_.end(metrics_);
  ++step_;
  metrics_.step = step_;
  metrics_.epoch = result.epoch;
  metrics_.loss = result.loss;
  metrics_.gradient_norm = result.gradient_norm;
  metrics_.learning_rate = result.learning_rate;
  history_.push_back(metrics_);
  // A rank that stopped alone would leave the others waiting, so a wish of one is a decision of all.
  double wishes = stop_signal_.was_received() || step_ == options_.stop_after ? 1 : 0;
  if (team_.sum) team_.sum({&wishes, 1});
  is_stopping_ = wishes > 0;
}

void Run::set_exposed_communication(std::chrono::nanoseconds waited) {
  metrics_.exposed_communication = waited;
  if (!history_.empty()) history_.back().exposed_communication = waited;
}

bool Run::validation_is_due() {
  aside_begin_ = trace::Clock::now();
  return is_multiple(step_, options_.validate_every) || step_ == last_step_;
}

void Run::set_validation_loss(double loss) {
  metrics_.validation_loss = validation_loss_ = loss;
  history_.back().validation_loss = loss;
  clock_.record_aside("validate", trace::Category::kOther, aside_begin_);
}

Progress Run::progress() const {
  // Rates are means over the last steps: single steps would make the line flicker.
  const std::span<const StepMetrics> recent = std::span(history_).last(std::min(history_.size(), kAveragedSteps));
  StepMetrics::Milliseconds duration{}, exposed{};
  std::int64_t tokens = 0;
  for (const StepMetrics& step : recent) {
    duration += step.duration;
    exposed += step.exposed_communication.value_or(StepMetrics::Milliseconds(0));
    tokens += step.tokens;
  }
  Progress progress;
  progress.step = step_;
  progress.last_step = last_step_;
  progress.loss = metrics_.loss;
  progress.validation_loss = validation_loss_;
  progress.tokens_per_s = static_cast<double>(tokens) / std::max(duration.count(), 1e-6) * 1e3;
  if (metrics_.exposed_communication) {
    progress.exposed_communication = exposed / static_cast<double>(recent.size());
    progress.exposed_share = exposed / std::max(duration, StepMetrics::Milliseconds(1e-6));
  }
  const std::chrono::duration<double> elapsed = trace::Clock::now() - begin_;
  progress.time_left = elapsed / static_cast<double>(step_ - first_step_) * static_cast<double>(last_step_ - step_);
  return progress;
}

void Run::print_step() {
  if (metrics_file_) metrics_file_->write(metrics_);
  printer_.show(progress(),
                metrics_.validation_loss ? ProgressPrinter::Keep::kPermanent : ProgressPrinter::Keep::kTransient);
}

bool Run::checkpoint_is_due() const { return is_multiple(step_, options_.save_every) || is_finished(); }

void Run::save(const nn::Module& model, const optim::Optimizer& optimizer, const data::Sampler& sampler) {
  const trace::Clock::time_point begin = trace::Clock::now();
  if (!saver_) saver_.emplace(checkpoints_of(folder_), options_);
  saver_->save(step_, model, optimizer, sampler);
  longest_save_ = std::max<std::chrono::duration<double>>(longest_save_, trace::Clock::now() - begin);
  clock_.record_aside("save", trace::Category::kCheckpoint, begin);
}

bool Run::sample_is_due() const { return step_ == last_step_ && options_.sample_tokens > 0; }

void Run::set_sample(std::string generated) { sample_ = std::move(generated); }

int Run::finish() {
  printer_.end_line();
  if (saver_) saver_->finish();
  const std::vector<trace::RankTrace> own{recorder_->snapshot()};
  trace::write_trace(folder_ / trace::trace_file_name(team_.rank), own);
  write_summary(folder_, summarize(team_.rank, history_));
  double arrived = 1;
  if (team_.sum) team_.sum({&arrived, 1});  // from here on every rank's files are complete
  if (team_.rank == 0) {
    const Outcome outcome{.step = step_,
                          .last_step = last_step_,
                          .loss = metrics_.loss,
                          .validation_loss = validation_loss_,
                          .elapsed = trace::Clock::now() - begin_,
                          .longest_save = longest_save_,
                          .generated = sample_};
    replace_file(folder_ / "report.html",
                 report_page(folder_, describe(options_, facts_, team_), outcome, options_.compare));
    std::cout << closing(folder_, outcome) << std::flush;
  }
  return stop_signal_.was_received() ? kInterruptedExitCode : 0;
}

}  // namespace lockstep::run
