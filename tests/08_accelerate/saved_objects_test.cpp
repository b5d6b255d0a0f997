// save_state and load_state: what continues, on the same and on another number of ranks, and what is never lost.
#include "08_accelerate/state/saved_objects.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "08_accelerate/accelerator.hpp"
#include "08_accelerate/process/partial_state.hpp"
#include "base/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "digits.hpp"
#include "nn/layers.hpp"
#include "optim/sgd.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;
using namespace lockstep::test;
using accelerate::Accelerator;
using accelerate::AcceleratorOptions;

namespace {

constexpr std::int64_t kSamples = 50, kBatch = 12;  // four batches an epoch, and two samples over

struct Counter {
  std::int64_t value = 0;
  [[nodiscard]] nlohmann::json state_dict() const { return value; }
  void load_state_dict(const nlohmann::json& state) { value = state.get<std::int64_t>(); }
};

// The state of one rank.
struct Seen {
  std::vector<std::vector<std::int64_t>> ids;  // of each step, over all ranks, in the order of one process
  std::vector<double> losses;                  // of each step, this rank's
  std::vector<std::uint32_t> random;           // a word per step
  std::vector<float> values;                   // of the model, at the end
  std::int64_t counted = 0;
};

// Trains to `last_step`, saving after `saved_step`; -1: does not save. Loads first, if the folder is to be continued.
enum class Start { kNew, kLoad };
Seen train(Accelerator& accelerator, Start start, std::int64_t last_step, std::int64_t saved_step = -1) {
  Training training(kSamples, {.batch_size = kBatch}, accelerator.device());
  Counter counter;
  accelerator.register_for_checkpointing(counter);
  auto [net, adam, batches, rate] =
      accelerator.prepare(training.model, training.optimizer, training.loader, training.schedule);
  if (start == Start::kLoad) accelerator.load_state();
  Seen seen;
  for (std::int64_t epoch = training.sampler.epoch(); counter.value < last_step; ++epoch) {
    training.sampler.set_epoch(epoch);
    for (const data::Batch& batch : batches) {
      const auto scope = accelerator.accumulate(net);
      const Tensor ids = accelerator.gather_for_metrics(batch.sample_ids);
      seen.ids.emplace_back(ids.span<std::int64_t>().begin(), ids.span<std::int64_t>().end());
      adam.zero_grad();
      const autograd::Variable loss = training.loss_of(batch);
      accelerator.backward(loss);
      seen.losses.push_back(loss.value().item());
      seen.random.push_back(accelerator.random()());
      adam.step(rate.get_last_lr());
      rate.step();
      if (++counter.value == saved_step) accelerator.save_state();
      if (counter.value == last_step) break;
    }
  }
  seen.values = values_of(training.model);
  seen.counted = counter.value;
  return seen;
}

std::vector<Seen> train_on(int world_size, const fs::path& folder, Start start, std::int64_t last_step,
                           std::int64_t saved_step = -1) {
  std::vector<Seen> seen(static_cast<std::size_t>(world_size));
  run_all(world_size, [&](comm::JobContext job) {
    const auto rank = static_cast<std::size_t>(job.rank);
    Accelerator accelerator({.split_batches = true, .seed = 9, .project_dir = folder}, std::move(job));
    seen[rank] = train(accelerator, start, last_step, saved_step);
  });
  return seen;
}

template <typename T>
std::vector<T> from(const std::vector<T>& all, std::ptrdiff_t begin) {
  return {all.begin() + begin, all.end()};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& path : checkpoint::CheckpointFolder(folder / "checkpoints").list())
    names.push_back(path.filename().string());
  return names;
}

}  // namespace

TEST_CASE("a training that was saved continues bit for bit at the same number of ranks",
          "[accelerate][checkpoint][multirank]") {
  const int world_size = GENERATE(1, 2, 3);
  const std::int64_t saved_step = GENERATE(1, 4, 6);  // within an epoch, at the end of one, and in the next
  const TemporaryFolder folder;
  const auto whole = train_on(world_size, folder / "whole", Start::kNew, 9);
  (void)train_on(world_size, folder / "parts", Start::kNew, saved_step, saved_step);
  const auto resumed = train_on(world_size, folder / "parts", Start::kLoad, 9);
  for (std::size_t rank = 0; rank < whole.size(); ++rank) {
    CHECK(resumed[rank].ids == from(whole[rank].ids, saved_step));
    CHECK(resumed[rank].losses == from(whole[rank].losses, saved_step));
    CHECK(resumed[rank].random == from(whole[rank].random, saved_step));
    CHECK(resumed[rank].values == whole[rank].values);
    CHECK(resumed[rank].counted == 9);
  }
}

TEST_CASE("at another number of ranks the same samples follow, and every rank has random numbers of its own",
          "[accelerate][checkpoint][multirank]") {
  const auto [before, after] = GENERATE(std::pair(1, 3), std::pair(3, 2), std::pair(2, 4));
  const TemporaryFolder folder;
  const auto whole = train_on(1, folder / "whole", Start::kNew, 9);
  (void)train_on(before, folder / "parts", Start::kNew, 6, 6);
  const auto resumed = train_on(after, folder / "parts", Start::kLoad, 9);
  CHECK(resumed[0].ids == from(whole[0].ids, 6));
  // Sums of the same 12 terms in another order, as in accelerator_test.cpp.
  CHECK(largest_difference(resumed[0].values, whole[0].values) < 1e-4);
  for (std::size_t rank = 1; rank < resumed.size(); ++rank) {
    CHECK(resumed[rank].values == resumed[0].values);
    CHECK(resumed[rank].random != resumed[0].random);
  }
}

TEST_CASE("checkpoints are numbered, the oldest go, and a training of before keeps its own",
          "[accelerate][checkpoint]") {
  const TemporaryFolder folder;
  const AcceleratorOptions options{.project_dir = folder.path(), .total_limit = 2};
  Training training(8, {.batch_size = 4});
  {
    Accelerator accelerator(options);
    auto net = accelerator.prepare(training.model);
    CHECK(accelerator.save_state() == folder / "checkpoints" / "step_00000000");
    CHECK(accelerator.save_state() == folder / "checkpoints" / "step_00000001");
    CHECK(accelerator.save_state() == folder / "checkpoints" / "step_00000002");
    CHECK(names_in(folder.path()) == std::vector<std::string>{"step_00000001", "step_00000002"});
  }
  {
    Accelerator accelerator(options);  // which does not continue what is there
    auto net = accelerator.prepare(training.model);
    CHECK(accelerator.save_state().filename() == "step_00000003");
    CHECK(names_in(folder.path()) == std::vector<std::string>{"step_00000002", "step_00000003"});
  }
  Accelerator accelerator({.project_dir = folder.path()});
  auto net = accelerator.prepare(training.model);
  const auto loaded = accelerator.load_state(folder / "checkpoints" / "step_00000002");
  CHECK(loaded.number == 2);
  CHECK(loaded.checkpoint == folder / "checkpoints" / "step_00000002");
  CHECK(accelerator.save_state().filename() == "step_00000003.2");
}

TEST_CASE("a damaged checkpoint is passed over, and a save that fails leaves the last good one",
          "[accelerate][checkpoint][multirank]") {
  const TemporaryFolder folder;
  const AcceleratorOptions options{.project_dir = folder.path(), .total_limit = 1};
  std::vector<std::string> messages(2);
  run_all(2, [&](comm::JobContext job) {
    const auto rank = static_cast<std::size_t>(job.rank);
    Accelerator accelerator(options, std::move(job));
    Training training(8, {.batch_size = 4});
    auto net = accelerator.prepare(training.model);
    accelerator.save_state();
    if (accelerator
            .is_main_process()) {  // a folder in the place of a file: rank 0 cannot save, and both must learn of it
      fs::remove(folder / "checkpoints" / ".writer_lock");
      fs::create_directory(folder / "checkpoints" / ".writer_lock");
    }
    accelerator.wait_for_everyone();
    try {
      accelerator.save_state();
    } catch (const IoError& error) {
      messages[rank] = error.what();
    }
    accelerator.wait_for_everyone();
    if (accelerator.is_main_process()) fs::remove(folder / "checkpoints" / ".writer_lock");
    accelerator.wait_for_everyone();
    accelerator.load_state();
  });
  for (const std::string& message : messages) CHECK_THAT(message, ContainsSubstring("rank 0: "));
  CHECK(names_in(folder.path()) == std::vector<std::string>{"step_00000000"});

  Accelerator accelerator({.project_dir = folder.path()});
  Training training(8, {.batch_size = 4});
  auto net = accelerator.prepare(training.model);
  accelerator.load_state();
  accelerator.save_state();
  fs::resize_file(folder / "checkpoints" / "step_00000001" / "model.safetensors", 20);
  CHECK(accelerator.load_state().number == 0);
}

TEST_CASE("a checkpoint of other objects is refused before anything is changed", "[accelerate][checkpoint][fault]") {
  const TemporaryFolder folder;
  Training saved(8, {.batch_size = 4});
  {
    Accelerator accelerator({.project_dir = folder.path()});
    auto [net, adam] = accelerator.prepare(saved.model, saved.optimizer);
    for (const autograd::Variable& parameter : saved.model.parameters()) parameter.value().fill_zero();
    accelerator.save_state();
  }
  Training other(8, {.batch_size = 4});
  const auto before = values_of(other.model);
  {
    Accelerator accelerator({.project_dir = folder.path()});
    auto net = accelerator.prepare(other.model);
    CHECK_THROWS_AS(accelerator.load_state(), FormatError);
  }
  {
    Accelerator accelerator({.project_dir = folder.path()});
    Counter counter;
    accelerator.register_for_checkpointing(counter);
    auto [net, adam] = accelerator.prepare(other.model, other.optimizer);
    CHECK_THROWS_WITH(accelerator.load_state(), ContainsSubstring("registered for checkpointing"));
  }
  CHECK(values_of(other.model) == before);
  Accelerator accelerator({.project_dir = folder / "nothing"});
  auto net = accelerator.prepare(other.model);
  CHECK_THROWS_AS(accelerator.load_state(), IoError);
}

TEST_CASE("a checkpoint of a model that trained other parameters is refused before anything is changed",
          "[accelerate][checkpoint][fault]") {
  const TemporaryFolder folder;
  {
    Training saved(8, {.batch_size = 4});
    Accelerator accelerator({.project_dir = folder.path()});
    auto net = accelerator.prepare(saved.model);
    for (const data::Batch& batch : saved.loader) accelerator.backward(saved.loss_of(batch));
    for (const autograd::Variable& parameter : saved.model.parameters()) parameter.value().fill_zero();
    accelerator.save_state();
  }
  Training other(8, {.batch_size = 4});
  other.model.parameters().front().set_requires_grad(false);
  const auto before = values_of(other.model);
  Accelerator accelerator({.project_dir = folder.path()});
  auto net = accelerator.prepare(other.model);
  CHECK_THROWS_WITH(accelerator.load_state(), ContainsSubstring("which the model does not have, or does not train"));
  CHECK(values_of(other.model) == before);
}

TEST_CASE("a checkpoint of other data is refused before anything is changed", "[accelerate][checkpoint][fault]") {
  const TemporaryFolder folder;
  {
    Training saved(8, {.batch_size = 4});
    Accelerator accelerator({.project_dir = folder.path()});
    auto [net, adam, batches] = accelerator.prepare(saved.model, saved.optimizer, saved.loader);
    for (const autograd::Variable& parameter : saved.model.parameters()) parameter.value().fill_zero();
    accelerator.save_state();
  }
  Training other(12, {.batch_size = 4});
  const auto before = values_of(other.model);
  Accelerator accelerator({.project_dir = folder.path()});
  auto [net, adam, batches] = accelerator.prepare(other.model, other.optimizer, other.loader);
  CHECK_THROWS_WITH(accelerator.load_state(), ContainsSubstring("a dataset of 8 samples, this one has 12"));
  CHECK(values_of(other.model) == before);
}

// Refuses whatever it is given.
struct Refusing {
  [[nodiscard]] nlohmann::json state_dict() const { return 1; }
  void load_state_dict(const nlohmann::json&) { throw FormatError("this is not my state"); }
};

TEST_CASE("a registered object that refuses its state leaves the weights as they are",
          "[accelerate][checkpoint][fault]") {
  const TemporaryFolder folder;
  Accelerator accelerator({.project_dir = folder.path()});
  Training training(8, {.batch_size = 4});
  Refusing object;
  accelerator.register_for_checkpointing(object);
  auto [net, adam] = accelerator.prepare(training.model, training.optimizer);
  accelerator.save_state();
  for (const autograd::Variable& parameter : training.model.parameters()) parameter.value().fill_zero();
  const auto before = values_of(training.model);
  CHECK_THROWS_WITH(accelerator.load_state(), ContainsSubstring("this is not my state"));
  CHECK(values_of(training.model) == before);
}

TEST_CASE("updates of a parameter that the optimizer lacks are refused before anything is changed",
          "[accelerate][checkpoint][fault]") {
  const TemporaryFolder folder;
  const accelerate::PartialState ranks;
  nn::Linear layer(2, 3, 1);
  optim::Sgd whole({nn::all_parameters(layer)});
  whole.set_step_counts({.steps = 3, .fewer = {{"bias", 1}}});
  accelerate::SavedObjects objects;
  objects.models.push_back({&layer, {}});
  objects.optimizers.push_back(&whole);
  (void)accelerate::save_objects(objects, ranks, folder.path(), {}, 0);
  nn::ParameterGroup weight = nn::all_parameters(layer);
  std::erase_if(weight.parameters, [](const nn::NamedParameter& named) { return named.name != "weight"; });
  REQUIRE(weight.parameters.size() == 1);
  optim::Sgd other({weight});
  objects.optimizers.back() = &other;
  for (const autograd::Variable& parameter : layer.parameters()) parameter.value().fill_zero();
  const auto before = values_of(layer);
  CHECK_THROWS_AS(accelerate::load_objects(objects, ranks, folder.path()), FormatError);
  CHECK(values_of(layer) == before);
  CHECK(other.step_counts().steps == 0);
}

// Has no state, or one that no file can hold.
struct Unsavable {
  bool throws = false;
  [[nodiscard]] nlohmann::json state_dict() const {
    if (throws) throw std::runtime_error("the object has no state");
    return "not UTF-8: \xFF";
  }
  void load_state_dict(const nlohmann::json&) {}
};

TEST_CASE("an object whose state cannot be saved is an error on all ranks, and none waits for another",
          "[accelerate][checkpoint][fault][multirank]") {
  const bool throws = GENERATE(true, false);
  const TemporaryFolder folder;
  const auto outcomes = run_ranks(2, [&](comm::JobContext job) {
    Accelerator accelerator({.project_dir = folder.path()}, std::move(job));
    Training training(8, {.batch_size = 4});
    auto net = accelerator.prepare(training.model);
    Unsavable object{throws};
    accelerator.register_for_checkpointing(object);
    accelerator.save_state();
  });
  for (const RankOutcome& outcome : outcomes) {
    CHECK(outcome.is<IoError>());
    CHECK_THAT(outcome.message(), ContainsSubstring(throws ? "rank 0: the object has no state" : "rank 0: "));
  }
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("nothing is saved between the micro-batches of a step", "[accelerate][checkpoint][fault]") {
  const TemporaryFolder folder;
  Accelerator accelerator({.gradient_accumulation_steps = 2, .project_dir = folder.path()});
  Training training(16, {.batch_size = 4});
  auto [net, adam, batches] = accelerator.prepare(training.model, training.optimizer, training.loader);
  for (const data::Batch& batch : batches) {
    const auto scope = accelerator.accumulate(net);
    accelerator.backward(training.loss_of(batch));
    if (!accelerator.sync_gradients()) CHECK_THROWS_AS(accelerator.save_state(), ContractError);
    adam.step(1e-3);
    adam.zero_grad();
    if (accelerator.sync_gradients()) CHECK_NOTHROW(accelerator.save_state());
  }
}

TEST_CASE("two models and two optimizers keep their own tensors", "[accelerate][checkpoint]") {
  const TemporaryFolder folder;
  Accelerator accelerator({.project_dir = folder.path()});
  Training first(8, {.batch_size = 4}), second(8, {.batch_size = 4});
  auto [net_1, adam_1, net_2, adam_2] =
      accelerator.prepare(first.model, first.optimizer, second.model, second.optimizer);
  second.model.parameters().front().value().span<float>()[0] = 42;
  const auto values_1 = values_of(first.model), values_2 = values_of(second.model);
  accelerator.save_state();
  for (const autograd::Variable& parameter : first.model.parameters()) parameter.value().fill_zero();
  for (const autograd::Variable& parameter : second.model.parameters()) parameter.value().fill_zero();
  accelerator.load_state();
  CHECK(values_of(first.model) == values_1);
  CHECK(values_of(second.model) == values_2);
}

TEST_CASE("after free_memory other objects can be prepared, and are saved alone", "[accelerate][checkpoint][memory]") {
  const TemporaryFolder folder;
  Accelerator accelerator({.project_dir = folder.path()});
  {
    Training gone(8, {.batch_size = 4});
    auto [net, adam, batches] = accelerator.prepare(gone.model, gone.optimizer, gone.loader);
  }
  accelerator.free_memory();
  Training training(8, {.batch_size = 4});
  auto [net, adam] = accelerator.prepare(training.model, training.optimizer);
  const auto values = values_of(training.model);
  accelerator.save_state();
  Accelerator other({.project_dir = folder.path()});
  Training loaded(8, {.batch_size = 4});
  for (const autograd::Variable& parameter : loaded.model.parameters()) parameter.value().fill_zero();
  auto [other_net, other_adam] = other.prepare(loaded.model, loaded.optimizer);
  other.load_state();
  CHECK(values_of(loaded.model) == values);
}

TEST_CASE("parts of parameters are not saved as if they were whole, of a model or of an optimizer",
          "[accelerate][checkpoint]") {
  class Part : public nn::Module {
   public:
    Part() { (void)register_part("weight", Tensor::zeros({6}), Slice::of({4, 3}).part({4, 10})); }
  };
  const TemporaryFolder folder;
  const accelerate::PartialState ranks;
  Part part;
  optim::AdamW optimizer({nn::all_parameters(part)});
  accelerate::SavedObjects model_alone, optimizer_alone;
  model_alone.models.push_back({&part, {}});
  optimizer_alone.optimizers.push_back(&optimizer);
  for (const accelerate::SavedObjects& objects : {model_alone, optimizer_alone}) {
    const auto refusal = ContainsSubstring("weight is only 6 elements of [4, 3]; save a sharded model with sharded::");
    CHECK_THROWS_WITH(accelerate::save_objects(objects, ranks, folder.path(), {}, 0), refusal);
    CHECK_THROWS_WITH(accelerate::load_objects(objects, ranks, folder.path()), refusal);
  }
  CHECK(fs::is_empty(folder.path()));
}
