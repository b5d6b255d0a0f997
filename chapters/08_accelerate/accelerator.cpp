#include "08_accelerate/accelerator.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "08_accelerate/process/launch_settings.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/option_checks.hpp"
#include "base/philox.hpp"
#include "device/storage.hpp"
#include "optim/clip.hpp"
#include "run/run_folder.hpp"

namespace lockstep::accelerate {
namespace {

constexpr const char* kRandomName = "random";

Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> dimensions(shape.dimensions().begin(), shape.dimensions().end());
  dimensions.front() = rows;
  return Shape(dimensions);
}

// `tensor` with rows of zeros behind it.
Tensor padded(const Tensor& tensor, std::int64_t rows) {
  if (tensor.shape()[0] == rows) return tensor;
  const Tensor longer = Tensor::zeros(with_rows(tensor.shape(), rows), tensor.dtype(), tensor.device());
  longer.rows(0, tensor.shape()[0]).copy_from(tensor);
  return longer;
}

MixedPrecision parse_mixed_precision(const std::string& name) {
  static const std::map<std::string, MixedPrecision> kByName = {{"no", MixedPrecision::kNo},
                                                                {"bf16", MixedPrecision::kBf16}};
  const std::string wrong = one_of(kByName)(name);
  if (!wrong.empty()) throw UsageError("LOCKSTEP_MIXED_PRECISION: " + wrong);
  return kByName.at(name);
}

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
    options_.mixed_precision = parse_mixed_precision(launched_mixed_precision().value_or("no"));
  register_own_state();
}

void Accelerator::register_own_state() { saved_.of_rank.push_back(kept_state_of(kRandomName, random_)); }

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
  AcceleratedLoader prepared(loader, shard, gradient_state_);
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
  gradient_state_->has_accumulated = gradient_state_->is_backward_done = true;
  loss.backward(weight);
}

double Accelerator::clip_grad_norm(const std::vector<autograd::Variable>& parameters, double max_norm) {
  require(sync_gradients(), "clip_grad_norm: more micro-batches are still to be added; ask sync_gradients() first");
  return optim::clip_grad_norm(parameters, max_norm);
}

// Position p of the global batch was dealt to rank p % P, as its row p / P.
Tensor Accelerator::gather_for_metrics(const Tensor& tensor) const {
  const OrderShard* const shard = gradient_state_->active;
  require(shard != nullptr, "gather_for_metrics: no prepared loader has handed out a batch");
  const std::int64_t expected = shard->samples_of(process_index());
  require(tensor.is_defined() && tensor.shape().rank() >= 1 && tensor.shape()[0] == expected,
          "gather_for_metrics: ", "the batch has ", expected,
          " samples on this rank, so a tensor of as many rows is expected");
  const std::int64_t each = shard->samples_of(0);  // rank 0 has most
  const Tensor all = gather(padded(tensor, each));
  const std::int64_t count = shard->real_samples();
  const Tensor result = Tensor::empty(with_rows(tensor.shape(), count), tensor.dtype(), tensor.device());
  for (std::int64_t position = 0; position < count; ++position) {
    const std::int64_t row = position % num_processes() * each + position / num_processes();
    result.rows(position, position + 1).copy_from(all.rows(row, row + 1));
  }
  return result;
}

std::filesystem::path Accelerator::save_state() {
  require(!gradient_state_->is_within_window(), "save_state: called between the micro-batches of a step, whose ",
          "gradients are not saved; ask sync_gradients() first");
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
  *gradient_state_ = {};
  return loaded;
}

void Accelerator::init_trackers(const std::string& project_name, const nlohmann::json& config) {
  if (!is_main_process()) return;
  const std::filesystem::path folder = options_.project_dir / "logs" / project_name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw IoError(concat("making ", folder.string()), error.value());
  run::replace_file(folder / "config.json", dump_json(config, 2) + "\n");
  for (const std::string& name : options_.log_with) trackers_.push_back(make_tracker(name, folder));
}

void Accelerator::log(const Scalars& values, std::int64_t step) {
  for (const auto& tracker : trackers_) tracker->log(values, step);
}

void Accelerator::end_training() {
  trackers_.clear();
  wait_for_everyone();
}

void Accelerator::free_memory() {
  saved_ = {};
  register_own_state();
  release_cached_memory(device());
}

}  // namespace lockstep::accelerate
