// `./lockstep run 09 --mine`: a step of stage 1 that exercise 09.2 asks for, in the trainer of chapter 09.
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "run/metrics.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Options = std::vector<std::string>;

// A text, and a run that has been trained on it, by four steps unless the options say otherwise.
class Job {
 public:
  Job() { test::write_words(folder_.path() / "text.txt", 4000); }

  [[nodiscard]] test::Finished train(const std::string& program, int world_size, const Options& options = {},
                                     const std::vector<std::pair<std::string, std::string>>& variables = {}) const {
    std::vector<std::string> command{test::built_program("lockstep"),
                                     "launch",
                                     "--nproc",
                                     std::to_string(world_size),
                                     "--",
                                     program,
                                     "--data",
                                     (folder_ / "text.txt").string(),
                                     "--batch-size",
                                     "12",
                                     "--dropout",
                                     "0.1",
                                     "--validate-every",
                                     "0",
                                     "--save-every",
                                     "0",
                                     "--sample-tokens",
                                     "0",
                                     "--out",
                                     (folder_ / "runs").string()};
    command.insert(command.end(), options.begin(), options.end());
    std::vector<std::pair<std::string, std::string>> environment{{"OMP_NUM_THREADS", "1"}};
    environment.insert(environment.end(), variables.begin(), variables.end());
    return test::run_program(command, environment);
  }

  [[nodiscard]] fs::path run() const { return fs::directory_iterator(folder_.path() / "runs")->path(); }

  [[nodiscard]] std::vector<double> losses() const {
    std::vector<double> losses;
    for (const run::StepMetrics& step : run::read_metrics(run() / "metrics.jsonl")) losses.push_back(step.loss);
    return losses;
  }
  [[nodiscard]] std::vector<double> gradient_norms() const {
    std::vector<double> norms;
    for (const run::StepMetrics& step : run::read_metrics(run() / "metrics.jsonl"))
      norms.push_back(step.gradient_norm.value_or(-1));
    return norms;
  }
  // Of the checkpoint of step 4.
  [[nodiscard]] std::string file(const std::string& name) const {
    return read_file(run() / "checkpoints" / "step_00000004" / name);
  }

 private:
  test::TemporaryFolder folder_;
};

std::string program_with(const std::string& whose) {
  return std::string(LOCKSTEP_EXERCISE_PROGRAMS) + "/train_gpt_sharded_" + whose;
}

void require_success(const test::Finished& finished) {
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
}

// The run of chapter 09's own trainer.
void train_ours(const Job& job, int world_size, const Options& options) {
  Options all{"--zero", "1"};
  all.insert(all.end(), options.begin(), options.end());
  require_success(job.train(test::built_program("train_gpt_sharded"), world_size, all));
  REQUIRE(job.losses().size() == 4);
}

void check_equal(const Job& found, const Job& expected) {
  CHECK(found.losses() == expected.losses());
  CHECK(found.gradient_norms() == expected.gradient_norms());
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    INFO(name);
    const bool is_equal = found.file(name) == expected.file(name);
    CHECK(is_equal);
  }
}

}  // namespace

TEST_CASE("the trainer of chapter 09 takes the same steps with the solution of 09.2, bit for bit",
          "[exercises][mine][multirank]") {
  const int world_size = GENERATE(1, 2, 4);
  const std::string files = GENERATE("", "09.2=1111", "06.5=2222 09.2=1111");
  INFO(world_size << " ranks with " << files);
  const Job expected, found;
  train_ours(expected, world_size, {"--steps", "4"});
  const test::Finished finished =
      found.train(program_with("solutions"), world_size, {"--steps", "4"}, {{"LOCKSTEP_MINE", files}});
  require_success(finished);
  CHECK_THAT(finished.out, ContainsSubstring(files.empty() ? "stage 1    ours" : "stage 1    yours (09.2 1111)"));
  check_equal(found, expected);
}

TEST_CASE("so it does with every option that stage 1 has", "[exercises][mine][multirank]") {
  const Options options =
      GENERATE(Options{"--steps", "4", "--accumulation-steps", "3", "--activation-checkpointing"},
               Options{"--steps", "4", "--backend", "ring", "--uneven"},
               Options{"--steps", "4", "--optimizer", "sgd", "--momentum", "0.9", "--check-replicas", "1"},
               Options{"--steps", "4", "--clip", "0", "--bf16", "--validate-every", "2"});
  INFO(options[2]);
  const Job expected, found;
  train_ours(expected, 2, options);
  require_success(found.train(program_with("solutions"), 2, options, {{"LOCKSTEP_MINE", "09.2=1111"}}));
  check_equal(found, expected);
}

TEST_CASE("so does an unusual right answer to 09.2", "[exercises][mine][multirank]") {
  const std::string name = GENERATE("updates_then_gathers", "mean_by_hand");
  const Job expected, found;
  train_ours(expected, 2, {"--steps", "4"});
  require_success(found.train(program_with("alternatives"), 2, {"--steps", "4"},
                              {{"LOCKSTEP_MINE", "09.2=1111"}, {"LOCKSTEP_VARIANT", name}}));
  check_equal(found, expected);
}

TEST_CASE("a run with the solution of 09.2 goes on with the trainer of chapter 09, and the other way round",
          "[exercises][mine][multirank]") {
  const bool begins_with_ours = GENERATE(true, false);
  const std::string ours = test::built_program("train_gpt_sharded"), theirs = program_with("solutions");
  const std::vector<std::pair<std::string, std::string>> files{{"LOCKSTEP_MINE", "09.2=1111"}};
  const Job expected, found;
  train_ours(expected, 2, {"--steps", "4"});
  require_success(found.train(begins_with_ours ? ours : theirs, 2, {"--steps", "4", "--stop-after", "2"}, files));
  require_success(found.train(begins_with_ours ? theirs : ours, 2, {"--resume", found.run().string()}, files));
  check_equal(found, expected);
}

TEST_CASE("a wrong step trains to other numbers, or ends with an error that names it", "[exercises][mine][multirank]") {
  struct Wrong {
    std::string name, clip;
    std::string error;  // empty: none
  };
  const Wrong wrong =
      GENERATE(Wrong{"sums", "0", ""}, Wrong{"local_norm", "1", ""}, Wrong{"gathers_old_values", "1", ""},
               Wrong{"never_gathers", "1", "the replicas have drifted apart"},
               Wrong{"whole_optimizer", "1", "09.2: update(0) takes rank "},
               Wrong{"part_zero_everywhere", "1", "09.2: update(0) takes rank 1's part of the bucket"},
               Wrong{"gather_not_awaited", "1", "09.2: finish() has returned"});
  INFO(wrong.name);
  // AdamW hardly shows a gradient of another length.
  const Options options{"--steps",        "4", "--optimizer", "sgd",     "--learning-rate", "0.1",
                        "--warmup-steps", "0", "--clip",      wrong.clip};
  const Job expected, found;
  train_ours(expected, 2, options);
  const test::Finished finished = found.train(program_with("mistakes"), 2, options,
                                              {{"LOCKSTEP_MINE", "09.2=1111"}, {"LOCKSTEP_VARIANT", wrong.name}});
  INFO(finished.out << finished.err);
  if (wrong.error.empty()) {
    REQUIRE(finished.exit_code == 0);
    CHECK(std::abs(found.losses().back() - expected.losses().back()) > 1e-3);
  } else {
    CHECK(finished.exit_code != 0);
    CHECK_THAT(finished.err, ContainsSubstring(wrong.error));
  }
}

TEST_CASE("the trainer for 09.2 refuses the other stages of ZeRO, and exercises that it does not use",
          "[exercises][mine]") {
  const auto refusal = [](const Options& options, const std::string& files) {
    const Job job;
    const test::Finished finished = job.train(program_with("solutions"), 2, options, {{"LOCKSTEP_MINE", files}});
    CHECK(finished.exit_code != 0);
    return finished.out + finished.err;
  };
  CHECK_THAT(refusal({"--zero", "2"}, "09.2=1111"), ContainsSubstring("leave out --zero 2"));
  CHECK_THAT(refusal({"--zero", "3"}, ""), ContainsSubstring("leave out --zero 3"));
  CHECK_THAT(refusal({}, "06.4=1111"), ContainsSubstring("LOCKSTEP_MINE: \"06.4=1111\""));
}

}  // namespace lockstep::exercise
