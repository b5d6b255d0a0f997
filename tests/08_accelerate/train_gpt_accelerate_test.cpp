// The pair train_gpt_ddp and train_gpt_accelerate as processes: the same losses, bit for bit.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

using Options = std::vector<std::string>;

/// A folder with a text, and training runs on it; `more` overrides an option that it repeats.
class Job {
 public:
  Job() { test::write_words(folder_ / "text.txt", 4000); }

  /// world_size 0: without a launcher.
  [[nodiscard]] test::Finished train(const std::string& program, int world_size, const Options& more) const {
    Options options{"--data",
                    (folder_ / "text.txt").string(),
                    "--steps",
                    "4",
                    "--batch-size",
                    "12",
                    "--dropout",
                    "0.1",
                    "--validate-every",
                    "2",
                    "--save-every",
                    "0",
                    "--sample-tokens",
                    "0",
                    "--log-batches",
                    "--out",
                    (folder_ / "runs").string()};
    if (std::ranges::find(more, "--epochs") != more.end()) options.erase(options.begin() + 2, options.begin() + 4);
    options.insert(options.end(), more.begin(), more.end());
    return start(program, world_size, options);
  }
  /// Under the launcher, which chooses the precision.
  [[nodiscard]] test::Finished train_in(const std::string& precision, int world_size, const Options& options) const {
    Options command{test::built_program("lockstep"),
                    "launch",
                    "--nproc",
                    std::to_string(world_size),
                    "--mixed-precision",
                    precision,
                    "--",
                    test::built_program("train_gpt_accelerate"),
                    "--data",
                    (folder_ / "text.txt").string(),
                    "--out",
                    (folder_ / "runs").string()};
    command.insert(command.end(), options.begin(), options.end());
    return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  }
  [[nodiscard]] test::Finished resume(const std::string& program, int world_size) const {
    return start(program, world_size, {"--resume", run().string(), "--out", (folder_ / "runs").string()});
  }
  [[nodiscard]] fs::path run() const { return run::latest_run(folder_ / "runs").value(); }
  [[nodiscard]] std::vector<run::StepMetrics> metrics() const { return run::read_metrics(run() / "metrics.jsonl"); }

 private:
  [[nodiscard]] static test::Finished start(const std::string& program, int world_size, const Options& options) {
    Options command{test::built_program(program)};
    if (world_size > 0) {
      command = {test::built_program("lockstep"), "launch", "--nproc",
                 std::to_string(world_size),      "--",     test::built_program(program)};
    }
    command.insert(command.end(), options.begin(), options.end());
    return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  }

  test::TemporaryFolder folder_;
};

std::vector<run::StepMetrics> metrics_of(const std::string& program, int world_size, const Options& more = {}) {
  const Job job;
  const test::Finished finished = job.train(program, world_size, more);
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  return job.metrics();
}

void check_equal(const std::vector<run::StepMetrics>& found, const std::vector<run::StepMetrics>& expected) {
  REQUIRE(found.size() == expected.size());
  REQUIRE_FALSE(expected.empty());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(found[i].loss == expected[i].loss);
    CHECK(found[i].validation_loss == expected[i].validation_loss);
    CHECK(found[i].gradient_norm == expected[i].gradient_norm);
    CHECK(found[i].learning_rate == expected[i].learning_rate);
    CHECK(found[i].sample_ids == expected[i].sample_ids);
    CHECK(found[i].count == expected[i].count);
  }
}

}  // namespace

TEST_CASE("the accelerator takes the steps of train_gpt_ddp bit for bit", "[accelerate][pair]") {
  const int world_size = GENERATE(1, 2, 4);
  check_equal(metrics_of("train_gpt_accelerate", world_size), metrics_of("train_gpt_ddp", world_size));
}

TEST_CASE("without a launcher the accelerator takes the steps of train_gpt_single bit for bit", "[accelerate][pair]") {
  const auto expected = metrics_of("train_gpt_single", 0), found = metrics_of("train_gpt_accelerate", 0);
  check_equal(found, expected);
  CHECK(metrics_of("train_gpt_accelerate", 0, {"--seed", "2"}).back().loss != expected.back().loss);
}

TEST_CASE("other settings follow train_gpt_ddp bit for bit, too", "[accelerate][pair]") {
  const auto [world_size, more] =
      GENERATE(std::pair(2, Options{"--accumulation-steps", "2"}), std::pair(2, Options{"--bf16"}),
               std::pair(2, Options{"--compress-gradients", "bf16"}), std::pair(3, Options{"--backend", "star"}),
               std::pair(2, Options{"--clip", "0", "--optimizer", "sgd", "--learning-rate", "0.05"}));
  check_equal(metrics_of("train_gpt_accelerate", world_size, more), metrics_of("train_gpt_ddp", world_size, more));
}

TEST_CASE("on ranks with unequal batches, too", "[accelerate][pair]") {
  // The text has 155 samples to train on: twelve batches of 12 and one of 11, of which a rank gets fewer.
  const Options one_epoch{"--uneven", "--epochs", "1"};
  check_equal(metrics_of("train_gpt_accelerate", 4, one_epoch), metrics_of("train_gpt_ddp", 4, one_epoch));
}

TEST_CASE("on emulated devices, too", "[accelerate][pair][nccl]") {
  const Options few{"--steps",   "2", "--batch-size", "2",        "--validate-every", "0",
                    "--dropout", "0", "--device",     "emulated", "--backend",        "nccl"};
  check_equal(metrics_of("train_gpt_accelerate", 2, few), metrics_of("train_gpt_ddp", 2, few));
}

TEST_CASE("two micro-batches of half the batch take the step of the whole batch", "[accelerate][pair]") {
  const int world_size = GENERATE(1, 2);
  const auto whole = metrics_of("train_gpt_ddp", world_size);
  const auto halves = metrics_of("train_gpt_accelerate", world_size, {"--accumulation-steps", "2"});
  REQUIRE(halves.size() == whole.size());
  // The loss near 5.5 is a sum of 12 * 128 float32 terms in another order: about 1e-6 in the first step. AdamW turns
  // relative gradient errors of 1e-6 into weight errors below 1e-7 a step for all but vanishing gradients, whose sign
  // can flip; three such steps stay below 1e-3 of the loss by a wide margin (tests/06_gpt_ddp/train_gpt_ddp_test.cpp).
  CHECK(std::abs(halves[0].loss - whole[0].loss) < 1e-5);
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(std::abs(halves[i].loss - whole[i].loss) < 1e-3);
}

TEST_CASE("either program continues what the other has saved", "[accelerate][pair][checkpoint]") {
  const auto [first, second] =
      GENERATE(std::pair("train_gpt_accelerate", "train_gpt_ddp"), std::pair("train_gpt_ddp", "train_gpt_accelerate"));
  const Job job;
  REQUIRE(job.train(first, 2, {"--stop-after", "2"}).exit_code == 0);
  const test::Finished resumed = job.resume(second, 2);
  INFO(resumed.out << resumed.err);
  REQUIRE(resumed.exit_code == 0);
  check_equal(job.metrics(), metrics_of("train_gpt_ddp", 2));
}

TEST_CASE("launched with --mixed-precision fp16, the program trains in float16 on emulated devices",
          "[accelerate][pair][fp16]") {
  const int world_size = GENERATE(1, 2);
  const Options few{"--steps",      "2", "--batch-size", "2",        "--validate-every", "0", "--sample-tokens", "0",
                    "--save-every", "0", "--device",     "emulated", "--dropout",        "0"};
  const auto losses_in = [&](const std::string& precision) {
    const Job job;
    const test::Finished finished = job.train_in(precision, world_size, few);
    INFO(finished.out << finished.err);
    REQUIRE(finished.exit_code == 0);
    CHECK((finished.out.find("float16 activations and products") != std::string::npos) == (precision == "fp16"));
    return job.metrics();
  };
  const auto exact = losses_in("no"), rounded = losses_in("fp16");
  REQUIRE(rounded.size() == exact.size());
  // A loss near 5.5 is off by the roundings of about 60 numbers (tests/train/nn/device_step_test.cpp) on logits near 0,
  // and gradients by 60 * 2^-11 of themselves: 3 % of what a step changes the loss by, which is below 1.
  CHECK(rounded[0].loss != exact[0].loss);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    CHECK(std::abs(rounded[i].loss - exact[i].loss) <= 60 * 0x1p-11);
  }
}

TEST_CASE("launched with --mixed-precision fp16 on the CPU, the program says what to choose", "[accelerate][fp16]") {
  const Job job;
  const test::Finished finished = job.train_in("fp16", 1, {"--steps", "1"});
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.out + finished.err, ContainsSubstring("choose bf16 there"));
}
