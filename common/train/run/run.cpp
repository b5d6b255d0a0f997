#include "run/run.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <iostream>

#include "base/error.hpp"
#include "comm/process_group.hpp"
#include "run/progress_line.hpp"
#include "run/rank_summary.hpp"
#include "run/readable.hpp"
#include "run/way_back.hpp"

namespace lockstep::run {
namespace {

FaultInjector make_injector(const comm::ProcessGroup* group) {
  const std::vector<fault::Fault> faults = FaultInjector::from_environment();
  if (group == nullptr) return {faults, 0, 1, 0};
  const comm::JobContext& job = group->context();
  const bool is_whole_job = job.global_ranks.empty();  // else the number of the job's ranks is unknown
  return {faults, job.global_rank(job.rank), is_whole_job ? job.world_size : INT_MAX, job.generation};
}

// Validates the options before a run folder is made.
const RunOptions& checked(const RunOptions& options, const Ranks& ranks) {
  options.require_divisible_batch(ranks.data_ranks());
  return options;
}

bool is_multiple(std::int64_t step, std::int64_t interval) { return interval > 0 && step % interval == 0; }

// Collective.
MemoryPeaks largest_peaks(const MemoryPeaks& own, const Ranks& ranks) {
  const auto rank = static_cast<std::size_t>(ranks.rank()), world_size = static_cast<std::size_t>(ranks.world_size());
  std::vector<double> all(2 * world_size);  // one number of each rank, then the other
  all[rank] = own.counted_mib;
  all[world_size + rank] = own.process_mib;
  ranks.sum(all);
  const auto middle = all.begin() + ranks.world_size();
  return {.counted_mib = *std::max_element(all.begin(), middle), .process_mib = *std::max_element(middle, all.end())};
}

Outcome outcome_of(const StepLog& log, const RunSummary& facts) {
  Outcome outcome{.step = log.step(),
                  .first_step = log.first_step(),
                  .last_step = log.last_step(),
                  .warmup_steps = 0,
                  .loss = {},
                  .validation_loss = {},
                  .scores = {},
                  .elapsed = log.elapsed(),
                  .longest_save = {},
                  .generated = {},
                  .loss_unit = facts.loss_unit};
  if (log.current().step == log.step() && log.step() > 0) outcome.loss = log.current().loss;
  if (log.evaluation()) {
    outcome.validation_loss = log.evaluation()->loss;
    outcome.scores = log.evaluation()->scores;
  }
  return outcome;
}

// A run that fails before its first step leaves no folder.
std::int64_t resume_or_remove(const RunFiles& files, const std::function<std::int64_t()>& resume) {
  try {
    return resume();
  } catch (...) {
    files.remove_if_new();
    throw;
  }
}

void announce_resume(const Ranks& ranks, std::int64_t first_step) {
  if (ranks.is_main()) std::cout << "resumed at step " << first_step << "\n" << std::flush;
}

}  // namespace

Run::Run(const RunOptions& options, nlohmann::json saved_options, const RunSummary& facts, const Ranks& ranks,
         const StepHooks* hooks)
    : options_(options),
      facts_(facts),
      ranks_(ranks),
      log_({.last_step = options.total_steps(facts.training_samples),
            .batch_size = options.batch_size,
            .tokens_per_sample = facts.tokens_per_sample,
            .logs_batches = options.output.log_batches,
            .has_tensorboard = options.output.tensorboard},
           ranks_),
      faults_(make_injector(ranks_.group())),
      stop_(options.stop_after, ranks_.world_size()),
      algorithms_(checked(options_, ranks_), ranks_),
      files_(options_, std::move(saved_options), facts_, ranks_),
      checkpoints_(options_, files_.folder(), files_.saved_options(), log_, ranks_),
      status_(ranks_, log_.last_step()) {
  if (ranks_.group() != nullptr) ranks_.group()->record_to(log_.recorder());
  if (std::optional<KeptState> chosen = algorithms_.state(folder())) checkpoints_.add_state(std::move(*chosen));
  if (ranks_.is_main()) checkpoints_.lock_resumed_run();
  files_.write_options(facts_);
  if (hooks != nullptr) hooks_.emplace(*hooks);
  if (hooks_ && hooks_->begin) hooks_->begin(*this);
  if (!ranks_.is_main()) return;
  Facts shown = describe(options_, facts_, ranks_);
  shown.emplace_back("run", folder().string());
  std::cout << banner(shown, text_columns()) + "\n" << std::flush;
}

void Run::resume(nn::Module& model, optim::Optimizer& optimizer, data::Sampler& sampler) {
  const std::int64_t first_step =
      resume_or_remove(files_, [&] { return checkpoints_.resume(model, optimizer, sampler); });
  log_.resume(folder() / "metrics.jsonl", first_step, model.parameters().front().device());
  if (options_.resume) announce_resume(ranks_, first_step);
}

void Run::resume(std::vector<NamedPart> model, optim::Optimizer& optimizer, data::Sampler& sampler) {
  require(!model.empty(), "a run without parts of a model");
  const Device device = model.front().tensor.device();
  const std::int64_t first_step =
      resume_or_remove(files_, [&] { return checkpoints_.resume(std::move(model), optimizer, sampler); });
  log_.resume(folder() / "metrics.jsonl", first_step, device);
  if (options_.resume) announce_resume(ranks_, first_step);
}

std::vector<MicroBatch> Run::begin_step(const data::Batch& batch, std::chrono::nanoseconds loader_waiting, BatchOf of) {
  const StepMetrics::Milliseconds last_own_time = log_.current().own_time();
  log_.begin(batch, loader_waiting, of);
  faults_.begin_step(step() + 1, last_own_time);
  faults_.read_batch(batch);
  return split_batch(batch, options_.accumulation_steps, options_.seed, step());
}

double Run::require_finite(const autograd::Variable& loss) const {
  const double value = loss.value().item();
  require_finite(value, "loss");
  return value;
}

void Run::require_finite(double gradient_norm) const {
  if (!hooks_ || !hooks_->skips_updates) require_finite(gradient_norm, "norm of the gradient");
}

void Run::require_finite(double value, const char* what) const {
  if (std::isfinite(value)) return;
  const std::string message =
      concat("rank ", ranks_.rank(), ": the ", what, " is ", describe_infinite(value), " in step ", step() + 1,
             "; try a --learning-rate below ", shortest(options_.learning_rate.highest), ", more than ",
             options_.learning_rate.warmup_steps, " --warmup-steps", options_.optimizer.clip > 0 ? "" : ", or --clip 1",
             checkpoints_.way_back());
  if (ranks_.group() != nullptr) ranks_.group()->abort(message);
  throw Error(message);
}

void Run::end_step(const StepResult& result) {
  StepResult of_all = result;
  if (hooks_ && hooks_->complete) hooks_->complete(of_all);
  stop_.count(log_.end(of_all, stop_.vote(step() + 1)));
  status_.write(log_.current());
}

bool Run::validation_is_due() {
  log_.clock().begin_aside();
  return is_multiple(step(), options_.output.validate_every) || step() == last_step();
}

void Run::print_step() {
  files_.restore_if_removed(facts_, step());
  log_.print();
  if (hooks_ && hooks_->check) hooks_->check(*this);
}

bool Run::checkpoint_is_due() const { return is_multiple(step(), options_.checkpoints.save_every) || is_finished(); }

void Run::show_sample(const std::function<std::string()>& generate, SampleRanks ranks) {
  const bool is_due = step() == last_step() && facts_.wants_sample && !log_.has_diverged();
  if (is_due && (ranks_.is_main() || ranks == SampleRanks::kAll)) sample_ = generate();
}

int Run::finish() {
  log_.end_line();
  checkpoints_.finish();
  faults_.finish();
  // Without a step, the files are those of an earlier process, which did the steps.
  const MemoryPeaks own{.counted_mib = counted_peak_mib(log_.device()), .process_mib = process_peak_mib()};
  if (!log_.history().empty()) files_.write_costs(*log_.recorder(), log_.history(), own);
  const MemoryPeaks largest = largest_peaks(own, ranks_);  // from here on every rank's files are complete
  if (ranks_.is_main()) {
    Outcome outcome = outcome_of(log_, facts_);
    outcome.warmup_steps = options_.learning_rate.warmup_steps;
    outcome.layout = options_.layout;
    outcome.division = options_.division;
    outcome.longest_save = checkpoints_.longest_save();
    outcome.largest_peaks = largest;
    outcome.generated = sample_;
    files_.write_report(describe(options_, facts_, ranks_), outcome, options_.output.compare, log_.history());
    std::cout << closing(folder(), outcome, text_columns()) << std::flush;
  }
  return stop_.exit_code(step() >= last_step());
}

}  // namespace lockstep::run
