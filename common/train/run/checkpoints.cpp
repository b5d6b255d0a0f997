#include "run/checkpoints.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "run/run_folder.hpp"
#include "run/way_back.hpp"

namespace lockstep::run {

Checkpoints::Checkpoints(const RunOptions& options, std::filesystem::path run_folder, nlohmann::json saved,
                         StepLog& log, const Ranks& ranks)
    : options_(options), run_folder_(std::move(run_folder)), saved_(std::move(saved)), log_(log), ranks_(ranks) {}

std::int64_t Checkpoints::resume(nn::Module& model, optim::Optimizer& optimizer, data::Sampler& sampler) {
  LoadedTraining loaded;
  if (options_.resume) {
    const std::filesystem::path from = options_.resume_from.value_or(checkpoints_of(run_folder_));
    loaded = load_training(from, model, optimizer, sampler, ranks_.group(), kept_);
  }
  if (!ranks_.is_main()) return loaded.step;
  saver_.emplace(checkpoints_of(run_folder_), options_.checkpoints, saved_, log_.last_step(), loaded.checkpoint)
      .prepare(model, optimizer);
  if (!options_.resume && !options_.output.export_initial.empty())
    export_weights(options_.output.export_initial, model);
  return loaded.step;
}

void Checkpoints::save(const nn::Module& model, const optim::Optimizer& optimizer, const data::Sampler& sampler) {
  if (!ranks_.is_main()) return;
  if (log_.has_diverged()) {
    Logger().warning(concat("no checkpoint of step ", log_.step(), " is saved, because the validation loss is ",
                            describe_infinite(log_.evaluation()->loss), ": the newest one stays the last before that"));
    return;
  }
  log_.clock().begin_aside();
  if (!saver_) saver_.emplace(checkpoints_of(run_folder_), options_.checkpoints, saved_, log_.last_step());
  saver_->save(log_.step(), model, optimizer, sampler, kept_);
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
