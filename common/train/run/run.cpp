#include "run/run.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "autograd/functions.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/preemption.hpp"
#include "comm/objects.hpp"
#include "comm/process_group.hpp"
#include "run/description.hpp"
#include "run/rank_summary.hpp"
#include "run/readable.hpp"
#include "run/report.hpp"
#include "run/run_folder.hpp"
#include "run/way_back.hpp"
#include "trace/trace_file.hpp"

namespace lockstep::run {
namespace {

constexpr std::int64_t kPlainLines = 20;  // about as many per run where lines are not redrawn
constexpr std::size_t kAveragedSteps = 20;
constexpr std::size_t kRecordedSpans = 20'000;

// The samples of the global batch in the order that one process would have read: sample i of rank r is the
// (i * world_size + r)-th.
std::vector<std::int64_t> all_sample_ids(std::span<const std::int64_t> own, std::int64_t batch_size,
                                         comm::ProcessGroup& group) {
  const auto rank = static_cast<std::size_t>(group.rank()), world_size = static_cast<std::size_t>(group.world_size());
  std::vector<std::int64_t> places(static_cast<std::size_t>(batch_size));  // id + 1; 0: a place without a sample
  for (std::size_t i = 0; i < own.size(); ++i) places[i * world_size + rank] = own[i] + 1;
  group.all_reduce(comm::host_buffer(std::span(places))).synchronize();
  std::erase(places, 0);
  for (std::int64_t& id : places) --id;
  return places;
}

// The rank that was the slowest one most often.
int slowest_of(std::span<const StepMetrics> steps) {
  std::map<int, int> times;
  for (const StepMetrics& step : steps) ++times[step.slowest_rank];
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

FaultInjector make_injector(const comm::ProcessGroup* group) {
  const std::vector<fault::Fault> faults = FaultInjector::of_environment();
  if (group == nullptr) return {faults, 0, 1, 0};
  const comm::JobContext& job = group->context();
  const bool is_whole_job = job.global_ranks.empty();  // else the number of the job's ranks is not known
  return {faults, job.global_rank(job.rank), is_whole_job ? job.world_size : INT_MAX, job.generation};
}

// Writes a file of which the training does not depend.
template <typename Write>
void leave_file(const char* what, const Write& write) {
  try {
    write();
  } catch (const std::exception& error) {
    Logger().warning(concat(what, " is not written: ", error.what()));
  }
}

bool is_multiple(std::int64_t step, std::int64_t interval) { return interval > 0 && step % interval == 0; }

}  // namespace

Run::Run(const RunOptions& options, nlohmann::json saved_options, const RunSummary& facts, comm::ProcessGroup* group)
    : options_(options),
      saved_options_(std::move(saved_options)),
      facts_(facts),
      group_(group),
      rank_(group == nullptr ? 0 : group->rank()),
      world_size_(group == nullptr ? 1 : group->world_size()),
      last_step_(options.total_steps(facts.training_samples)),
      recorder_(std::make_shared<trace::Recorder>(rank_, kRecordedSpans)),
      clock_(*recorder_),
      faults_(make_injector(group)),
      printer_(std::cout, detect_progress_style(), last_step_ / kPlainLines) {
  options_.require_divisible_batch(world_size_);
  if (!facts_.recorded.is_null()) saved_options_.update(facts_.recorded);
  if (group_ != nullptr) saved_options_[kBackendUsed] = group_->backend();
  settle_folder();
  if (group_ != nullptr) {
    group_->record_to(recorder_);
    open_status_file();
  }
  if (rank_ != 0) return;
  try {
    write_files();
  } catch (...) {
    std::error_code ignored;  // what could not be written says more
    if (!options_.resume) std::filesystem::remove_all(folder_, ignored);
    throw;
  }
  std::cout << banner(describe(options_, facts_, group_)) + "  run     " + folder_.string() + "\n\n" << std::flush;
}

void Run::write_files() const {
  for (const auto& [name, content] : facts_.files) replace_file(folder_ / name, content);
  replace_file(folder_ / "options.json", dump_json(saved_options_, 2) + "\n");
}

void Run::settle_folder() {
  if (options_.resume)
    folder_ = *options_.resume;
  else if (rank_ == 0)
    folder_ = make_run_folder(options_.output.folder, label_of(options_, facts_));
  if (group_ == nullptr) return;
  const std::filesystem::path of_rank_0 = comm::broadcast_text(*group_, folder_.string(), 0);
  if (options_.resume && of_rank_0 != folder_) {
    throw MismatchError(concat("rank ", rank_, " would resume ", folder_.string(), " but rank 0 ", of_rank_0.string(),
                               ": another run has saved a checkpoint in the meantime; give --resume the folder"));
  }
  folder_ = of_rank_0;
}

void Run::resume(nn::Module& model, optim::Optimizer& optimizer, data::Sampler& sampler) {
  LoadedTraining loaded;
  if (options_.resume) {
    const std::filesystem::path from = options_.resume_from.value_or(checkpoints_of(folder_));
    loaded = load_training(from, model, optimizer, sampler, group_, kept_);
  }
  first_step_ = step_ = loaded.step;
  device_ = model.parameters().front().device();
  begin_ = trace::Clock::now();
  if (rank_ != 0) return;
  metrics_file_.emplace(folder_ / "metrics.jsonl", step_);
  restore_last_step();
  saver_.emplace(checkpoints_of(folder_), options_.checkpoints, saved_options_, last_step_, loaded.checkpoint)
      .prepare(model, optimizer);
  if (options_.resume)
    std::cout << "resumed at step " << step_ << "\n" << std::flush;
  else if (!options_.output.export_initial.empty())
    export_weights(options_.output.export_initial, model);
}

// A run that has nothing left to do ends with the numbers of the step that was its last.
void Run::restore_last_step() {
  const std::optional<StepMetrics>& last = metrics_file_->last_kept();
  if (!last || last->step != step_) return;
  metrics_ = *last;
  if (last->validation_loss) evaluation_ = Evaluation{.loss = *last->validation_loss, .scores = last->scores};
}

std::vector<MicroBatch> Run::begin_step(const data::Batch& batch, std::chrono::nanoseconds loader_waiting, BatchOf of) {
  const StepMetrics::Milliseconds last_own_time = metrics_.own_time();
  metrics_ = {};
  batch_of_ = of;
  const bool counts_elsewhere = of == BatchOf::kAllRanks && rank_ != 0;
  metrics_.unit = facts_.tokens_per_sample > 0 ? Unit::kTokens : Unit::kSamples;
  metrics_.count = counts_elsewhere ? 0 : batch.size() * std::max<std::int64_t>(facts_.tokens_per_sample, 1);
  if (options_.output.log_batches && batch.size() > 0) {
    const auto sample_ids = batch.sample_ids.span<std::int64_t>();
    metrics_.sample_ids.assign(sample_ids.begin(), sample_ids.end());
  }
  clock_.begin(step_ + 1, loader_waiting);
  faults_.begin_step(step_ + 1, last_own_time);
  std::vector<MicroBatch> parts;
  const std::int64_t part_count = std::min(options_.accumulation_steps, batch.size());
  const auto all_targets = static_cast<double>(std::max<std::int64_t>(1, autograd::target_count(batch.targets)));
  for (std::int64_t part = 0; part < part_count; ++part) {
    const std::int64_t begin = part * batch.size() / part_count, end = (part + 1) * batch.size() / part_count;
    const Tensor targets = batch.targets.rows(begin, end);
    const nn::ForwardContext context{.is_training = true,
                                     .seed = options_.seed,
                                     .step = step_,
                                     .sample_ids = batch.sample_ids.rows(begin, end).span<std::int64_t>()};
    parts.push_back({batch.inputs.rows(begin, end), targets, context,
                     static_cast<double>(autograd::target_count(targets)) / all_targets});
  }
  return parts;
}

void Run::enter(Phase phase) { clock_.enter(phase); }

double Run::require_finite(const autograd::Variable& loss) const {
  const double value = loss.value().item();
  require_finite_loss(value);
  return value;
}

void Run::require_finite_loss(double loss) const {
  if (!std::isfinite(loss)) give_up("loss", loss);
}

void Run::require_finite(double gradient_norm) const {
  if (!std::isfinite(gradient_norm)) give_up("norm of the gradient", gradient_norm);
}

std::string Run::way_back() const {
  return run::way_back({.run_folder = folder_,
                        .first_step = first_step_,
                        .step = step_,
                        .is_step_validated = is_step_validated(),
                        .world_size = world_size_,
                        .local_world_size = group_ == nullptr ? 1 : group_->context().local_world_size},
                       options_);
}

void Run::give_up(std::string_view what, double value) const {
  const std::string message =
      concat("rank ", rank_, ": the ", what, " is ", describe_infinite(value), " in step ", step_ + 1,
             "; try a --learning-rate below ", shortest(options_.learning_rate.highest), ", more than ",
             options_.learning_rate.warmup_steps, " --warmup-steps", options_.optimizer.clip > 0 ? "" : ", or --clip 1",
             way_back());
  if (group_ != nullptr) group_->abort(message);
  throw Error(message);
}

void Run::end_step(const StepResult& result) {
  clock_.end(metrics_);
  ++step_;
  metrics_.step = step_;
  metrics_.epoch = result.epoch;
  metrics_.loss = result.loss;
  metrics_.gradient_norm = result.gradient_norm;
  // Where a gradient scaler has skipped the update, there is no norm to show.
  if (!std::isfinite(result.gradient_norm.value_or(0))) metrics_.gradient_norm.reset();
  metrics_.learning_rate = result.learning_rate;
  if (options_.output.log_batches && group_ != nullptr && batch_of_ == BatchOf::kThisRank) {
    metrics_.sample_ids = all_sample_ids(metrics_.sample_ids, options_.batch_size, *group_);
  }
  gather_step();
  history_.push_back(metrics_);
  tell_status();
}

void Run::open_status_file() {
  const comm::JobContext& job = group_->context();
  status_.rank = job.global_rank(rank_);
  status_.generation = job.generation;
  status_.last_step = last_step_;
  if (const auto folder = environment::get("LOCKSTEP_FLIGHT_DIR")) status_file_.emplace(*folder, status_.rank);
}

void Run::tell_status() {
  if (!status_file_) return;
  const auto nanoseconds = [](StepMetrics::Milliseconds duration) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  };
  status_.step = step_;
  status_.step_ns = nanoseconds(metrics_.duration);
  status_.steps_ns += status_.step_ns;
  status_.exposed_ns += nanoseconds(metrics_.exposed_communication.value_or(StepMetrics::Milliseconds(0)));
  const double own_peak_mib = metrics_.peak_memory_mib.at(static_cast<std::size_t>(rank_));
  status_.peak_memory_bytes = std::llround(own_peak_mib * (1 << 20));
  status_.loss = metrics_.loss;
  status_file_->write(status_);
}

void Run::sum_over_ranks(std::span<double> values) const {
  if (group_ != nullptr) group_->all_reduce(comm::host_buffer(values)).synchronize();
}

// What all ranks need to know of each other at the end of a step, in one message.
void Run::gather_step() {
  const auto own = static_cast<std::size_t>(rank_), ranks = static_cast<std::size_t>(world_size_);
  std::vector<double> sums(2 + 2 * ranks);
  // A rank that stopped alone would leave the others waiting, so a wish of one is a decision of all. A preempted one
  // adds more than all others could.
  const StopReason reason = stop_signal_.reason();
  sums[0] = reason != StopReason::kNone || step_ == options_.stop_after ? 1 : 0;
  if (reason == StopReason::kPreempted) sums[0] += world_size_;
  sums[1] = static_cast<double>(metrics_.count);
  sums[2 + own] = metrics_.own_time().count();
  sums[2 + ranks + own] = peak_memory_mib(device_);
  sum_over_ranks(sums);
  is_stopping_ = sums[0] > 0;
  is_preempted_ = sums[0] > world_size_;
  metrics_.count = static_cast<std::int64_t>(sums[1]);
  const auto own_times = sums.begin() + 2, peaks = own_times + world_size_;
  metrics_.slowest_rank = static_cast<int>(std::max_element(own_times, peaks) - own_times);
  metrics_.peak_memory_mib.assign(peaks, sums.end());
}

void Run::set_exposed_communication(std::chrono::nanoseconds waited) { metrics_.exposed_communication = waited; }

bool Run::validation_is_due() {
  aside_begin_ = trace::Clock::now();
  return is_multiple(step_, options_.output.validate_every) || step_ == last_step_;
}

void Run::set_evaluation(const Evaluation& evaluation) {
  evaluation_ = evaluation;
  metrics_.validation_loss = history_.back().validation_loss = evaluation.loss;
  metrics_.scores = history_.back().scores = evaluation.scores;
  clock_.record_aside("validate", trace::Category::kOther, aside_begin_);
}

ProgressReport Run::progress() const {
  // Rates are means over the last steps: single steps would make the line flicker.
  const std::span<const StepMetrics> recent = std::span(history_).last(std::min(history_.size(), kAveragedSteps));
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
  progress.last_step = last_step_;
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
  const std::chrono::duration<double> elapsed = trace::Clock::now() - begin_;
  progress.time_left = elapsed / static_cast<double>(step_ - first_step_) * static_cast<double>(last_step_ - step_);
  return progress;
}

void Run::print_step() {
  if (metrics_file_) metrics_file_->write(metrics_);
  printer_.show(progress(),
                metrics_.validation_loss ? ProgressPrinter::Keep::kPermanent : ProgressPrinter::Keep::kTransient);
}

bool Run::replica_check_is_due() const {
  return is_multiple(step_, options_.parallel.check_replicas) || checkpoint_is_due();
}

bool Run::checkpoint_is_due() const { return is_multiple(step_, options_.checkpoints.save_every) || is_finished(); }

// Whether the weights as they are now have had a finite validation loss.
bool Run::is_step_validated() const noexcept {
  const bool is_of_this_step = history_.empty() || history_.back().validation_loss;  // empty: restore_last_step()
  return evaluation_ && is_of_this_step && !has_diverged();
}

bool Run::has_diverged() const noexcept { return evaluation_ && !std::isfinite(evaluation_->loss); }

void Run::save(const nn::Module& model, const optim::Optimizer& optimizer, const data::Sampler& sampler) {
  if (has_diverged()) {
    Logger().warning(concat("no checkpoint of step ", step_, " is saved, because the validation loss is ",
                            describe_infinite(evaluation_->loss), ": the newest one stays the last before that"));
    return;
  }
  const trace::Clock::time_point begin = trace::Clock::now();
  if (!saver_) saver_.emplace(checkpoints_of(folder_), options_.checkpoints, saved_options_, last_step_);
  saver_->save(step_, model, optimizer, sampler, kept_);
  longest_save_ = std::max<std::chrono::duration<double>>(longest_save_, trace::Clock::now() - begin);
  clock_.record_aside("save", trace::Category::kCheckpoint, begin);
}

bool Run::sample_is_due() const { return step_ == last_step_ && facts_.wants_sample && !has_diverged(); }

void Run::set_sample(std::string generated) { sample_ = std::move(generated); }

Outcome Run::outcome() const {
  Outcome outcome{.step = step_,
                  .first_step = first_step_,
                  .last_step = last_step_,
                  .loss = {},
                  .validation_loss = {},
                  .scores = {},
                  .elapsed = trace::Clock::now() - begin_,
                  .longest_save = longest_save_,
                  .generated = sample_,
                  .loss_unit = facts_.loss_unit};
  if (metrics_.step == step_ && step_ > 0) outcome.loss = metrics_.loss;
  if (evaluation_) {
    outcome.validation_loss = evaluation_->loss;
    outcome.scores = evaluation_->scores;
  }
  return outcome;
}

int Run::finish() {
  printer_.end_line();
  if (saver_) saver_->finish();
  faults_.finish();
  if (!history_.empty()) {  // else the files are those of an earlier process, which has done the steps
    leave_file("the trace", [&] {
      const std::vector<trace::RankTrace> own{recorder_->snapshot()};
      trace::write_trace(folder_ / trace::trace_file_name(rank_), own);
    });
    leave_file("the summary of this rank", [&] { write_summary(folder_, summarize(rank_, history_)); });
  }
  double arrived = 1;
  sum_over_ranks({&arrived, 1});  // from here on every rank's files are complete
  if (rank_ == 0) {
    const Outcome ended = outcome();
    leave_file("the report", [&] {
      replace_file(folder_ / "report.html",
                   report_page(folder_, describe(options_, facts_, group_), ended, options_.output.compare));
    });
    std::cout << closing(folder_, ended) << std::flush;
  }
  if (stop_signal_.reason() == StopReason::kInterrupted) return kInterruptedExitCode;
  return is_preempted_ && step_ < last_step_ ? kRequeueExitCode : 0;
}

}  // namespace lockstep::run
