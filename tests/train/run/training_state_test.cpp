// Which checkpoint ranks with disks of their own resume from, and what a program keeps with it.
#include "run/training_state.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "checkpoint/checkpoint.hpp"
#include "data/sampler.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "run/run_folder.hpp"
#include "run/training_parts.hpp"
#include "run/whole_tensors.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

/// The parts of a training run. Its weights are all `value`.
struct Training {
  nn::Linear model{2, 2, 1};
  optim::AdamW optimizer{{nn::all_parameters(model)}};
  data::SequentialSampler sampler{5};

  explicit Training(float value) {
    for (const autograd::Variable& parameter : model.parameters())
      for (float& element : parameter.value().span<float>()) element = value;
  }
  [[nodiscard]] float value() const { return model.parameters()[0].value().span<float>()[3]; }
};

void save(const fs::path& disk, std::int64_t step, float value, const std::vector<run::KeptState>& kept = {}) {
  Training training(value);
  run::TrainingSaver saver(disk, {}, nlohmann::json::object(), 1);
  saver.save(step, training.model, training.optimizer, training.sampler, kept);
  saver.finish();
}

void damage(const fs::path& file) {
  std::string bytes = read_file(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(file, bytes);
}

/// Two ranks with a disk each, on which rank 0 has saved steps 1 and 2.
class Disks {
 public:
  Disks() {
    save(of(0), 1, 1);
    save(of(0), 2, 2);
    fs::copy(of(0), of(1), fs::copy_options::recursive);
  }
  [[nodiscard]] fs::path of(int rank) const { return folder_ / ("disk_" + std::to_string(rank)); }
  [[nodiscard]] fs::path newest_of(int rank) const { return of(rank) / "step_00000002"; }

  struct Ended {
    std::int64_t step = 0;
    float value = 0;
    std::string message;
    bool operator==(const Ended&) const = default;
  };
  /// How each rank's load_training() ends.
  [[nodiscard]] std::vector<Ended> resume() const {
    std::vector<Ended> ends(2);
    const auto outcomes = test::run_ranks(2, [&](comm::JobContext context) {
      const int rank = context.rank;
      const auto group = ring::make_shared_memory_process_group(std::move(context));
      Training training(0);
      Ended& end = ends[static_cast<std::size_t>(rank)];
      end.step = run::load_training(of(rank), training.model, training.optimizer, training.sampler, group.get()).step;
      end.value = training.value();
    });
    for (std::size_t rank = 0; rank < 2; ++rank) ends[rank].message = outcomes[rank].message();
    return ends;
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("ranks resume from the checkpoint that rank 0 chooses, whatever else they find", "[run][multirank]") {
  const Disks disks;
  CHECK(disks.resume() == std::vector<Disks::Ended>(2, {2, 2, ""}));
  fs::remove_all(disks.newest_of(0));
  CHECK(disks.resume() == std::vector<Disks::Ended>(2, {1, 1, ""}));
}

TEST_CASE("a newest checkpoint that rank 0 cannot read is passed over by all ranks", "[run][multirank]") {
  const Disks disks;
  damage(disks.newest_of(0) / "model.safetensors");
  CHECK(disks.resume() == std::vector<Disks::Ended>(2, {1, 1, ""}));
}

TEST_CASE("if all checkpoints are damaged, the error names them, and if there is none, the run that was meant",
          "[run]") {
  const test::TemporaryFolder folder;
  const fs::path checkpoints = run::checkpoints_of(folder / "my_run");
  CHECK_THROWS_WITH(run::load_options(folder / "my_run"),
                    ContainsSubstring("my_run, which does not exist: name a run folder or a checkpoint"));
  save(checkpoints, 1, 1);
  save(checkpoints, 2, 2);
  write_file(folder / "my_run/options.json", "{}");
  CHECK_THROWS_WITH(run::load_options(folder.path()), ContainsSubstring(", such as " + (folder / "my_run").string()));
  for (const char* name : {"step_00000001", "step_00000002"}) damage(checkpoints / name / "model.safetensors");
  CHECK_THROWS_WITH(run::load_options(folder / "my_run"),
                    ContainsSubstring("my_run is intact: step_00000001, step_00000002 are damaged"));
}

TEST_CASE("all ranks say which of them lacks rank 0's checkpoint, or has another or a damaged one",
          "[run][multirank]") {
  const Disks disks;
  const auto message = [&] {
    const auto ends = disks.resume();
    CHECK(ends[0].message == ends[1].message);
    CHECK((ends[0].value == 0 && ends[1].value == 0));  // nothing was loaded
    return ends[1].message;
  };
  SECTION("none") {
    fs::remove_all(disks.newest_of(1));
    CHECK_THAT(message(), ContainsSubstring("rank 0 resumes from " + disks.newest_of(0).string() +
                                            ", but rank 1 has none of that name; copy rank 0's there"));
  }
  SECTION("another") {
    fs::remove_all(disks.of(1));
    save(disks.of(1), 2, 3);
    CHECK_THAT(message(), ContainsSubstring("but rank 1 has a different one of that name"));
  }
  SECTION("damaged") {
    damage(disks.newest_of(1) / "model.safetensors");
    CHECK_THAT(message(), ContainsSubstring("but rank 1 cannot use its copy") && ContainsSubstring("is damaged"));
  }
  SECTION("none on rank 0") {
    fs::remove_all(disks.of(0));
    CHECK_THAT(message(), ContainsSubstring("rank 0: no checkpoint in "));
  }
}

TEST_CASE("what a program keeps comes back with the checkpoint, and is not asked for if none has it", "[run]") {
  const test::TemporaryFolder folder;
  nlohmann::json found;
  const auto keep = [&found](const std::string& name) {
    return run::KeptState{.name = name,
                          .save =
                              [name] {
                                return nlohmann::json{name, "b"};
                              },
                          .load = [&found, name](const nlohmann::json& value) { found[name] = value; }};
  };
  save(folder.path(), 1, 1, {keep("order")});
  Training training(0);
  const std::vector<run::KeptState> kept{keep("other"), keep("order")};
  CHECK(run::load_training(folder.path(), training.model, training.optimizer, training.sampler, nullptr, kept).step ==
        1);
  CHECK(found == nlohmann::json{{"order", {"order", "b"}}});

  found = nullptr;
  save(folder.path(), 2, 1);  // as earlier versions did
  CHECK(run::load_training(folder.path(), training.model, training.optimizer, training.sampler, nullptr, kept).step ==
        2);
  CHECK(found.is_null());
}

TEST_CASE("parts of parameters are not saved as if they were whole", "[run]") {
  class Part : public nn::Module {
   public:
    Part() { (void)register_part("weight", Tensor::zeros({6}), Slice::of({4, 3}).part({4, 10})); }
  };
  const test::TemporaryFolder folder;
  const Part part;
  CHECK_THROWS_WITH(run::export_weights(folder.path() / "part.safetensors", part),
                    ContainsSubstring("weight is only 6 elements of [4, 3]; save and load the whole model"));
}

namespace {

/// Stages of a pipeline, each with two parameters of its own.
class Stages : public nn::Module {
 public:
  explicit Stages(const std::vector<int>& stages) {
    for (const int stage : stages)
      for (const char* name : {"weight", "bias"})
        (void)register_part(concat("stage_", stage, ".", name), Tensor::zeros({3}), Slice::of({3}));
  }
  [[nodiscard]] std::vector<NamedPart> parts() const {
    std::vector<NamedPart> parts;
    for (const nn::NamedParameter& named : named_parameters())
      parts.push_back({named.name, named.parameter.value(), named.slice, named.is_owned});
    return parts;
  }
};

// Stages that load a checkpoint, and what their optimizer then knows.
std::map<std::string, std::int64_t> loaded_counts(const fs::path& from, const std::vector<int>& stages,
                                                  comm::ProcessGroup* group) {
  const Stages model(stages);
  optim::AdamW optimizer({nn::all_parameters(model)});
  data::SequentialSampler sampler(5);
  const run::TrainingParts parts{model.parts(), run::parts_of(optimizer)};
  const run::WholeTensors whole(parts, group);
  (void)run::load_training(from, whole.with_tensors_of_others(parts), optimizer, sampler, group);
  return optimizer.step_counts().fewer;
}

}  // namespace

TEST_CASE("a parameter that a later stage froze while training has its update count on any number of stages",
          "[run][multirank]") {
  const test::TemporaryFolder folder;
  const auto on_two_ranks = [](const std::function<void(comm::ProcessGroup&)>& work) {
    for (const test::RankOutcome& outcome : test::run_ranks(
             2, [&](comm::JobContext context) { work(*ring::make_shared_memory_process_group(std::move(context))); }))
      CHECK(outcome.message() == "");
  };
  on_two_ranks([&](comm::ProcessGroup& group) {
    const Stages model({group.rank()});
    optim::AdamW optimizer({nn::all_parameters(model)});
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      for (const nn::NamedParameter& named : model.named_parameters())
        if (step == 0 || named.name != "stage_1.bias") named.parameter.adopt_gradient(Tensor::zeros({3}));
      optimizer.step(0.1);
    }
    const data::SequentialSampler sampler(5);
    const run::TrainingParts parts{model.parts(), run::parts_of(optimizer)};
    const optim::StepCounts counts = run::step_counts_of_all(optimizer, &group);
    run::WholeTensors(parts, &group).save(parts, [&](const checkpoint::StreamedContents& contents) {
      run::TrainingSaver saver(folder.path(), {}, nlohmann::json::object(), 1);
      saver.save(3, contents, counts, sampler);
    });
    group.barrier().synchronize();
  });
  const std::map<std::string, std::int64_t> of_last_stage{{"stage_1.bias", 1}};
  CHECK(loaded_counts(folder.path(), {0, 1}, nullptr) == of_last_stage);
  std::vector<std::map<std::string, std::int64_t>> of_ranks(2);
  on_two_ranks([&](comm::ProcessGroup& group) {
    of_ranks[static_cast<std::size_t>(group.rank())] = loaded_counts(folder.path(), {group.rank()}, &group);
  });
  CHECK(of_ranks[0].empty());
  CHECK(of_ranks[1] == of_last_stage);
}
