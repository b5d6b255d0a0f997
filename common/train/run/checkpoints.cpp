#include "run/checkpoints.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/checkpoint.hpp"
#include "run/run_folder.hpp"
#include "run/way_back.hpp"

namespace lockstep::run {

Checkpoints::Checkpoints(const RunOptions& options, std::filesystem::path run_folder, nlohmann::json saved,
                         StepLog& log, const Ranks& ranks)
    : options_(options), run_folder_(std::move(run_folder)), saved_(std::move(saved)), log_(log), ranks_(ranks) {}

void Checkpoints::lock_resumed_run() {
  const std::filesystem::path checkpoints = checkpoints_of(run_folder_);
  if (options_.resume && std::filesystem::exists(checkpoints))
    lock_ = std::make_unique<checkpoint::WriterLock>(checkpoints);
}

std::int64_t Checkpoints::resume(nn::Module& model, optim::Optimizer& optimizer, data::Sampler& sampler) {
  const LoadedTraining loaded = load([&](const std::filesystem::path& from) {
    return load_training(from, model, optimizer, sampler, ranks_.group(), kept_);
  });
  if (!ranks_.is_main()) return loaded.step;
  make_saver(loaded.checkpoint).prepare(model, optimizer);
  if (exports_initial()) export_initial([&](const std::filesystem::path& file) { export_weights(file, model); });
  return loaded.step;
}

std::int64_t Checkpoints::resume(std::vector<NamedPart> model, optim::Optimizer& optimizer, data::Sampler& sampler) {
  const TrainingParts parts{std::move(model), parts_of(optimizer)};
  whole_.emplace(parts, ranks_.group());
  const LoadedTraining loaded = load([&](const std::filesystem::path& from) {
    return load_training(from, whole_->with_tensors_of_others(parts), optimizer, sampler, ranks_.group(), kept_);
  });
  if (ranks_.is_main()) (void)make_saver(loaded.checkpoint);
  if (exports_initial())
    whole_->save_model(parts.model, [this](const checkpoint::StreamedTensors& tensors) {
      export_initial([&](const std::filesystem::path& file) { checkpoint::begin_safetensors(file, tensors).finish(); });
    });
  return loaded.step;
}

bool Checkpoints::exports_initial() const noexcept {
  return !options_.resume && !options_.output.export_initial.empty();
}

void Checkpoints::export_initial(const std::function<void(const std::filesystem::path&)>& write) const {
  const std::filesystem::path& file = options_.output.export_initial;
  try {
    write(file);
  } catch (const IoError& error) {
    throw IoError(concat("--export-initial ", file.string(), ": the weights cannot be written there: ", error.what()));
  }
}

LoadedTraining Checkpoints::load(const std::function<LoadedTraining(const std::filesystem::path&)>& from) const {
  if (!options_.resume) return {};
  return from(options_.resume_from.value_or(checkpoints_of(run_folder_)));
}

void Checkpoints::save(const nn::Module& model, const optim::Optimizer& optimizer, const data::Sampler& sampler) {
  if (!ranks_.is_main() || warn_if_diverged()) return;
  time_save([&] { make_saver().save(log_.step(), model, optimizer, sampler, kept_); });
}

void Checkpoints::save(std::vector<NamedPart> model, const optim::Optimizer& optimizer, const data::Sampler& sampler) {
  if (warn_if_diverged()) return;
  time_save([&] {
    const TrainingParts parts{std::move(model), parts_of(optimizer)};
    if (!whole_) whole_.emplace(parts, ranks_.group());
    const optim::StepCounts counts = step_counts_of_all(optimizer, ranks_.group());
    whole_->save(parts, [&](const checkpoint::StreamedContents& contents) {
      make_saver().save(log_.step(), contents, counts, sampler, kept_);
    });
  });
}

TrainingSaver& Checkpoints::make_saver(const std::filesystem::path& resumed_from) {
  if (!saver_)
    saver_.emplace(checkpoints_of(run_folder_), options_.checkpoints, saved_, log_.last_step(), resumed_from,
                   std::move(lock_));
  return *saver_;
}

// The same on all ranks.
bool Checkpoints::warn_if_diverged() const {
  if (!log_.has_diverged()) return false;
  if (ranks_.is_main())
    Logger().warning(concat("no checkpoint of step ", log_.step(), " is saved, because the validation loss is ",
                            describe_infinite(log_.evaluation()->loss), ": the newest one stays the last before that"));
  return true;
}

void Checkpoints::time_save(const std::function<void()>& save) {
  log_.clock().begin_aside();
  save();
  longest_save_ = std::max<std::chrono::duration<double>>(longest_save_,
                                                          log_.clock().end_aside("save", trace::Category::kCheckpoint));
}

void Checkpoints::finish() {
  if (saver_) saver_->finish();
}

std::string Checkpoints::way_back() const {
  return run::way_back({.run_folder = run_folder_,
                        .first_step = log_.first_step(),
                        .step = log_.step(),
                        .is_step_validated = log_.is_step_validated(),
                        .world_size = ranks_.world_size(),
                        .local_world_size = ranks_.local_world_size()},
                       options_);
}

}  // namespace lockstep::run
