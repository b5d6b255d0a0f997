// Checkpoints of sharded ranks: the files that one process writes, from any number of ranks to any other, and from each
// way to train to every other.
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "09_sharded/setup.hpp"
#include "base/file.hpp"
#include "checkpoint/checkpoint.hpp"
#include "data/sampler.hpp"
#include "run/training_state.hpp"
#include "run/whole_tensors.hpp"
#include "sharded_training.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;
using namespace lockstep::test;

namespace {

/// A wrapper, and the numbers of ranks it is for.
struct Way {
  std::string name;
  int zero = 0;  ///< Stage of ZeRO; 0: DDP, -1: no wrapper.
  std::vector<int> worlds = {1, 2, 3, 4};
};

const std::vector<Way>& all_ways() {
  static const std::vector<Way> ways{{"single", -1, {1}}, {"DDP", 0}, {"ZeRO 1", 1}, {"ZeRO 2", 2}, {"ZeRO 3", 3}};
  return ways;
}

/// One rank's part in a training run that one of the ways does.
class Training {
 public:
  Training(int zero, comm::ProcessGroup& group, bool has_frozen = false)
      : group_(group), model_(small_gpt(), 7 + static_cast<std::uint64_t>(group.rank())) {
    if (has_frozen) freeze();
    if (zero == 0) distributed_.emplace(model_, group);
    if (zero > 0) sharded_.emplace(model_, group, sharded::ShardOptions{.stage = zero});
    optimizer_.emplace(nn::weight_decay_groups(is_sharded() ? sharded_->shards() : model_, 0.5));
    if (is_sharded()) whole_.emplace(parts(), &group);
  }

  /// @param step  From 0. @return  Its mean loss over all ranks.
  double train(int step) {
    optimizer_->zero_grad();
    double mean_loss = 0;
    const auto learn = [&](const TrainingPart& part) {
      const autograd::Variable loss = model_.loss(part.batch.inputs, part.batch.targets, part.context);
      mean_loss += loss.value().item();
      loss.backward();
    };
    const std::vector<TrainingPart> parts = parts_of_step({.world_size = group_.world_size()}, step, group_.rank());
    if (is_sharded()) {
      for (const TrainingPart& part : sharded_->accumulate(parts)) learn(part);
    } else {
      for (const TrainingPart& part : parts) learn(part);
    }
    if (is_sharded()) {
      (void)sharded_->clip_grad_norm(kClip);
    } else {
      (void)optim::clip_grad_norm(model_.parameters(), kClip);
    }
    optimizer_->step(0.01);
    if (is_sharded()) sharded_->gather_values();
    group_.all_reduce(comm::host_buffer(std::span(&mean_loss, 1)), comm::ReduceOp::kMean).synchronize();
    return mean_loss;
  }

  void save(const fs::path& root, int step) {
    run::TrainingSaver saver(root, {}, nlohmann::json::object(), 0);
    if (is_sharded()) {
      whole_->save(parts(), [&](const checkpoint::StreamedContents& contents) {
        saver.save(step, contents, optimizer_->step_counts(), sampler_);
      });
    } else if (group_.rank() == 0) {
      saver.save(step, model_, *optimizer_, sampler_);
    }
    group_.barrier().synchronize();
  }

  void load(const fs::path& root) {
    if (is_sharded()) {
      (void)run::load_training(root, parts(), *optimizer_, sampler_, &group_);
      sharded_->gather_values();
    } else {
      (void)run::load_training(root, model_, *optimizer_, sampler_, &group_);
    }
  }

  [[nodiscard]] optim::AdamW& optimizer() noexcept { return *optimizer_; }
  [[nodiscard]] const nn::Module& updated() const { return is_sharded() ? sharded_->shards() : model_; }

 private:
  [[nodiscard]] bool is_sharded() const noexcept { return sharded_.has_value(); }
  [[nodiscard]] run::TrainingParts parts() const {
    return {sharded::parts_of(*sharded_, group_.rank()), run::parts_of(*optimizer_)};
  }
  // Of the first block and of the positions.
  void freeze() {
    for (const nn::NamedParameter& named : model_.named_parameters()) {
      autograd::Variable parameter = named.parameter;
      if (named.name.starts_with("h.0.attn") || named.name.starts_with("wpe")) parameter.set_requires_grad(false);
    }
  }

  comm::ProcessGroup& group_;
  nn::Gpt model_;
  std::optional<ddp::DistributedDataParallel> distributed_;
  std::optional<sharded::ShardedDataParallel> sharded_;
  std::optional<optim::AdamW> optimizer_;
  std::optional<run::WholeTensors> whole_;
  data::SequentialSampler sampler_{100};
};

void on_ranks(int world_size, const std::function<void(comm::ProcessGroup&)>& work) {
  for (const RankOutcome& outcome :
       run_ranks(world_size, [&](comm::JobContext job) { work(*make_link(std::move(job), Link::kSharedMemory)); }))
    REQUIRE(outcome.message() == "");
}

/// The files of a checkpoint by name.
using Files = std::map<std::string, std::string>;

Files files_of(const fs::path& root, int step) {
  const fs::path folder = root / ("step_0000000" + std::to_string(step));
  Files files;
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"})
    files[name] = read_file(folder / name);
  return files;
}

// Two steps and a checkpoint of them, two more and another one. @return  The losses.
std::vector<double> train_whole(const Way& way, int world_size, const fs::path& root, bool has_frozen = false) {
  std::vector<double> losses(4);
  on_ranks(world_size, [&](comm::ProcessGroup& group) {
    Training training(way.zero, group, has_frozen);
    for (int step = 0; step < 4; ++step) {
      const double loss = training.train(step);
      if (group.rank() == 0) losses[static_cast<std::size_t>(step)] = loss;
      if (step == 1 || step == 3) training.save(root, step + 1);
    }
  });
  return losses;
}

struct Continued {
  Files loaded;  ///< Saved again before the next step.
  Files last;
  std::vector<double> losses;
};

// Goes on from the checkpoint of step 2.
Continued continue_from(const fs::path& root, const Way& way, int world_size) {
  Continued continued{.loaded = {}, .last = {}, .losses = std::vector<double>(2)};
  const TemporaryFolder own;
  on_ranks(world_size, [&](comm::ProcessGroup& group) {
    Training training(way.zero, group);
    training.load(root / "step_00000002");
    training.save(own / "loaded", 2);
    for (int step = 2; step < 4; ++step) {
      const double loss = training.train(step);
      if (group.rank() == 0) continued.losses[static_cast<std::size_t>(step - 2)] = loss;
    }
    training.save(own / "last", 4);
  });
  continued.loaded = files_of(own / "loaded", 2);
  continued.last = files_of(own / "last", 4);
  return continued;
}

// Element i of a tensor of the state is first + i + a bit that depends on the name.
void fill(const Training& training, const optim::Optimizer& optimizer, int first) {
  std::map<std::string, Slice> slices;
  for (const nn::NamedParameter& named : training.updated().named_parameters()) slices[named.name] = named.slice;
  for (const optim::NamedTensor& named : optimizer.state()) {
    const std::int64_t begin = slices.at(named.name.substr(0, named.name.rfind('.'))).elements.begin;
    const auto elements = named.tensor.span<float>();
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] =
          static_cast<float>(first + begin) + static_cast<float>(i) + static_cast<float>(named.name.size()) / 100;
  }
}

std::vector<float> state_of(const optim::Optimizer& optimizer) {
  std::vector<float> all;
  for (const optim::NamedTensor& named : optimizer.state()) {
    const auto elements = named.tensor.span<float>();
    all.insert(all.end(), elements.begin(), elements.end());
  }
  return all;
}

}  // namespace

// Every pair of ways and worlds, in two halves: at one number of ranks all ways write the same files, so that nobody
// can tell who wrote them; and each way at each number of ranks continues the files of each number of ranks.
TEST_CASE("each way to train resumes the checkpoints of every other, at any number of ranks",
          "[sharded][resume][multirank]") {
  struct Saved {
    fs::path root;
    std::vector<double> losses;
  };
  const TemporaryFolder folder;
  std::map<int, Saved> by_world;
  for (const Way& way : all_ways()) {
    for (const int world_size : way.worlds) {
      const fs::path root = folder / (way.name + " " + std::to_string(world_size));
      const Saved saved{root, train_whole(way, world_size, root)};
      const auto [first, is_new] = by_world.emplace(world_size, saved);
      INFO(way.name << " on " << world_size);
      CHECK(saved.losses == first->second.losses);
      for (const int step : {2, 4}) {
        const bool is_equal = is_new || files_of(root, step) == files_of(first->second.root, step);
        CHECK(is_equal);
      }
    }
  }
  for (const auto& [first_size, first] : by_world) {
    for (const Way& way : all_ways()) {
      for (const int world_size : way.worlds) {
        INFO("saved by " << first_size << " ranks, continued by " << way.name << " on " << world_size);
        const Continued found = continue_from(first.root, way, world_size);
        const bool is_loaded_whole = found.loaded == files_of(first.root, 2);
        CHECK(is_loaded_whole);
        if (first_size == world_size) {
          const bool is_as_uninterrupted = found.last == files_of(first.root, 4);
          CHECK(is_as_uninterrupted);
        }
        for (std::size_t i = 0; i < 2; ++i) CHECK(found.losses[i] == Approx(first.losses[i + 2]).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("sharded ranks write the files of one process and of DDP, byte for byte", "[sharded][resume][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 4);
  const bool has_frozen = GENERATE(false, true);
  const TemporaryFolder folder;
  const Way ddp{"DDP", 0}, zero{"ZeRO 1", 1}, single{"single", -1};
  (void)train_whole(zero, world_size, folder / "sharded", has_frozen);
  (void)train_whole(world_size == 1 ? single : ddp, world_size, folder / "whole", has_frozen);
  for (const int step : {2, 4}) {
    const bool is_equal = files_of(folder / "sharded", step) == files_of(folder / "whole", step);
    CHECK(is_equal);
  }
}

TEST_CASE("sharded ranks save the optimizer's state that one process has, and resume with their own elements of it",
          "[sharded][resume][multirank]") {
  const TemporaryFolder folder;
  on_ranks(1, [&](comm::ProcessGroup& group) {
    Training alone(-1, group);
    fill(alone, alone.optimizer(), 1);
    alone.optimizer().set_step_counts({.steps = 9});
    alone.save(folder / "alone", 1);
  });
  const int world_size = GENERATE(1, 2, 3, 4);
  std::vector<std::vector<float>> own(static_cast<std::size_t>(world_size)), restored = own;
  std::vector<std::int64_t> steps(static_cast<std::size_t>(world_size));
  on_ranks(world_size, [&](comm::ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    Training training(1, group);
    fill(training, training.optimizer(), 1);
    training.optimizer().set_step_counts({.steps = 9});
    own[rank] = state_of(training.optimizer());
    training.save(folder / "sharded", 1);
    fill(training, training.optimizer(), 500);
    training.optimizer().set_step_counts({.steps = 1});
    training.load(folder / "sharded");
    restored[rank] = state_of(training.optimizer());
    steps[rank] = training.optimizer().step_counts().steps;
  });
  const bool is_whole = files_of(folder / "sharded", 1) == files_of(folder / "alone", 1);
  CHECK(is_whole);
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    const bool is_restored = restored[rank] == own[rank];
    CHECK(is_restored);
    CHECK(steps[rank] == 9);
  }
}
