#include "08_accelerate/accelerator.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "08_accelerate/prepared/dealt_rows.hpp"
#include "08_accelerate/process/launch_settings.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/philox.hpp"
#include "device/storage.hpp"
#include "optim/clip.hpp"
#include "run/run_folder.hpp"

namespace lockstep::accelerate {
namespace {

constexpr const char* kRandomName = "random";
constexpr const char* kScalerName = "scaler";

}  // namespace

Accelerator::Accelerator(AcceleratorOptions options)
    : PartialState(options.process), options_(std::move(options)), random_(options_.seed, process_index()) {
  initialize();
}

Accelerator::Accelerator(AcceleratorOptions options, comm::JobContext job)
    : PartialState(options.process, std::move(job)),
      options_(std::move(options)),
      random_(options_.seed, process_index()) {
  initialize();
}

void Accelerator::initialize() {
  require(options_.gradient_accumulation_steps >= 1, "accelerator: gradient_accumulation_steps is ",
          options_.gradient_accumulation_steps, "; a step has at least one micro-batch");
  require(options_.total_limit >= 0, "accelerator: total_limit is ", options_.total_limit, "; 0 keeps all checkpoints");
  if (!options_.mixed_precision)
    options_.mixed_precision =
        parse_mixed_precision(launched_mixed_precision().value_or("no"), "LOCKSTEP_MIXED_PRECISION");
  if (options_.mixed_precision == MixedPrecision::kFp16) {
    if (device().is_cpu()) {
      throw UnavailableError(
          "accelerator: mixed precision fp16 needs a device (cuda or emulated), but this rank computes on the CPU; "
          "choose bf16 there, which has float32's range and needs no gradient scaler");
    }
    if (!options_.grad_scaler) options_.grad_scaler.emplace();
  }
  if (options_.grad_scaler) make_scaler();
  register_own_state();
}

// Averaged gradients give the same verdict on all ranks; gradients of parameters trained on one rank only may not.
void Accelerator::make_scaler() {
  optim::GradScalerOptions options = *options_.grad_scaler;
  options.any_rank = [this](bool is_found) {
    return reduce(static_cast<std::int64_t>(is_found), comm::ReduceOp::kMax) != 0;
  };
  scaler_ = std::make_unique<optim::GradScaler>(std::move(options));
  gradient_state_->scaler = scaler_.get();
  options_.ddp.refuse_non_finite = !scaler_->is_enabled();
}

void Accelerator::register_own_state() {
  saved_.of_rank.push_back(kept_state_of(kRandomName, random_));
  if (scaler_) saved_.of_job.push_back(kept_state_of(kScalerName, *scaler_));
}

std::shared_ptr<ddp::DistributedDataParallel> Accelerator::wrap(nn::Module& model) {
  auto wrapper = std::make_shared<ddp::DistributedDataParallel>(model, process_group(), options_.ddp);
  saved_.models.push_back({.module = &model, .wrapper = wrapper});
  return wrapper;
}

AcceleratedOptimizer Accelerator::prepare_one(optim::Optimizer& optimizer) {
  saved_.optimizers.push_back(&optimizer);
  return {optimizer, gradient_state_};
}

AcceleratedLoader Accelerator::prepare_one(data::DataLoader& loader) {
  const data::DataLoaderOptions& original = loader.options();
  const std::int64_t ranks = options_.split_batches ? num_processes() : 1;
  require(original.batch_size % ranks == 0, "prepare: a batch of ", original.batch_size, " samples cannot be divided ",
          "evenly among ", ranks, " ranks; choose another batch size, or split_batches = false");
  const ShardOptions shard{.rank = process_index(),
                           .world_size = num_processes(),
                           .batch_size = original.batch_size / ranks,
                           .drop_last = original.drop_last,
                           .even_batches = options_.even_batches};
  AcceleratedLoader prepared(loader, shard, gradient_state_, options_.device_placement ? device() : Device{});
  saved_.samplers.push_back(&loader.sampler());
  return prepared;
}

AcceleratedScheduler Accelerator::prepare_one(const optim::Schedule& schedule) {
  AcceleratedScheduler prepared(schedule, gradient_state_);
  saved_.schedules.push_back(prepared.updates());
  return prepared;
}

void Accelerator::backward(const autograd::Variable& loss) {
  backward(loss, 1.0 / static_cast<double>(options_.gradient_accumulation_steps));
}

void Accelerator::backward(const autograd::Variable& loss, double weight) {
  warn_without_autocast();
  Profile* const profile = gradient_state_->profile;
  if (profile != nullptr) profile->enter_step();
  const auto span = Profile::span(profile, "backward", trace::Category::kBackward);
  gradient_state_->has_accumulated = gradient_state_->is_backward_done = true;
  if (!scaler_) return loss.backward(weight);
  update_scale();
  scaler_->scale(loss).backward(weight);
}

void Accelerator::warn_without_autocast() {
  if (options_.mixed_precision == MixedPrecision::kNo || std::exchange(has_autocast_begun_, true)) return;
  if (!is_main_process()) return;
  Logger("accelerator")
      .warning(concat("mixed precision is ", name_of(*options_.mixed_precision),
                      ", but autocast() has not been called before backward(), so forward has computed in float32; ",
                      "keep its result while forward runs: const auto precision = accelerator.autocast();"));
}

// Not at the end of an optimizer's step: another optimizer's gradients may still carry this scale.
void Accelerator::update_scale() {
  if (scaler_ && std::exchange(gradient_state_->is_scale_due, false)) scaler_->update();
}

const optim::GradScaler* Accelerator::scaler() {
  update_scale();
  return scaler_.get();
}

std::optional<run::KeptState> Accelerator::scaler_state() {
  if (!scaler_) return std::nullopt;
  return run::KeptState{.name = kScalerName,
                        .save = [this] { return scaler()->state_dict(); },
                        .load = [this](const nlohmann::json& state) { scaler_->load_state_dict(state); }};
}

// Only for optimizers that train some of `parameters`: clipping one model must not end another's step.
void Accelerator::unscale_gradients(const std::vector<autograd::Variable>& parameters) {
  std::set<const void*> meant;
  for (const autograd::Variable& parameter : parameters) meant.insert(parameter.node().get());
  for (const optim::Optimizer* const optimizer : saved_.optimizers) {
    const bool is_meant = std::ranges::any_of(optimizer->groups(), [&](const nn::ParameterGroup& group) {
      return std::ranges::any_of(group.parameters, [&](const nn::NamedParameter& named) {
        return meant.contains(named.parameter.node().get());
      });
    });
    if (is_meant) scaler_->unscale(*optimizer);
  }
}

double Accelerator::clip_grad_norm(const std::vector<autograd::Variable>& parameters, double max_norm) {
  require(sync_gradients(), "clip_grad_norm: more micro-batches are still to be added; ask sync_gradients() first");
  const auto span = Profile::span(gradient_state_->profile, "clip_grad_norm", trace::Category::kOptimizer);
  if (scaler_) unscale_gradients(parameters);
  return optim::clip_grad_norm(parameters, max_norm);
}

std::filesystem::path Accelerator::save_state() {
  require(!gradient_state_->is_within_window(), "save_state: called between the micro-batches of a step, whose ",
          "gradients are not saved; ask sync_gradients() first");
  update_scale();
  const auto folder = run::checkpoints_of(options_.project_dir);
  const SavedCheckpoint saved = save_objects(saved_, *this, folder, next_save_, options_.total_limit);
  next_save_ = saved.number + 1;
  return saved.checkpoint;
}

LoadedCheckpoint Accelerator::load_state(const std::filesystem::path& path) {
  const auto folder = path.empty() ? run::checkpoints_of(options_.project_dir) : path;
  LoadedCheckpoint loaded = load_objects(saved_, *this, folder);
  next_save_ = loaded.number + 1;
  if (!loaded.has_rank_states) {
    random_.reseed(mix64(options_.seed, static_cast<std::uint64_t>(loaded.number) + 1));
    print("load_state: ", loaded.checkpoint.string(),
          " was saved by another number of ranks; their random() begins anew");
  }
  gradient_state_->begin_anew();
  return loaded;
}

void Accelerator::init_trackers(const std::string& project_name, const nlohmann::json& config) {
  if (!is_main_process()) return;
  const std::filesystem::path folder = options_.project_dir / "logs" / project_name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw IoError(concat("making ", folder.string()), error.value());
  run::replace_file(folder / "config.json", dump_json(config, 2, BadUtf8::kReplace) + "\n");
  for (const std::string& name : options_.log_with) trackers_.add(run::make_tracker(name, folder));
}

void Accelerator::end_training() {
  trackers_.close();
  wait_for_everyone();
}

void Accelerator::free_memory() {
  update_scale();
  gradient_state_->skipped.clear();
  saved_ = {};
  register_own_state();
  release_cached_memory(device());
}

Tensor Accelerator::gather_for_metrics(const Tensor& tensor) const {
  const OrderShard* const shard = gradient_state_->active();
  require(shard != nullptr,
          "gather_for_metrics: no prepared loader is being iterated, so nothing is known of the rows ",
          "that other ranks have; call it in the loop over a prepared loader, or call gather()");
  const std::int64_t expected = shard->samples_of(process_index());
  require(tensor.is_defined() && tensor.shape().rank() >= 1 && tensor.shape()[0] == expected,
          "gather_for_metrics: ", "the batch has ", expected,
          " samples on this rank, so a tensor of as many rows is expected");
  const std::int64_t most = shard->samples_of(0);  // rank 0 has the most
  return in_order_of_positions(gather(padded(tensor, most)), num_processes(), shard->real_samples());
}

}  // namespace lockstep::accelerate
