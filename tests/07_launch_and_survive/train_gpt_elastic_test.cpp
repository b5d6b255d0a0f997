// The pair train_gpt_ddp and train_gpt_elastic as processes: the same losses after ranks have died and at any
// number of ranks.
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
constexpr std::size_t kSteps = 6;

/// A folder with a text, and training runs of 6 steps of 12 samples on it; `more` overrides an option that it repeats.
class Job {
 public:
  Job() { test::write_words(folder_ / "text.txt", 4000); }

  [[nodiscard]] test::Finished train(const std::string& program, int world_size, const Options& more = {},
                                     const Options& launch_options = {}) const {
    Options command{test::built_program("lockstep"), "launch", "--nproc", std::to_string(world_size)};
    command.insert(command.end(), launch_options.begin(), launch_options.end());
    const Options training{"--", test::built_program(program), "--data", (folder_ / "text.txt").string()};
    command.insert(command.end(), training.begin(), training.end());
    const Options settings{"--steps",          std::to_string(kSteps),
                           "--batch-size",     "12",
                           "--dropout",        "0.1",
                           "--validate-every", "0",
                           "--sample-tokens",  "0",
                           "--save-every",     "2",
                           "--log-batches",    "--out",
                           out().string()};
    command.insert(command.end(), settings.begin(), settings.end());
    command.insert(command.end(), more.begin(), more.end());
    return test::run_program(command, {{"OMP_NUM_THREADS", "1"}, {"LOCKSTEP_GRACE_SECONDS", "5"}});
  }
  [[nodiscard]] std::vector<run::StepMetrics> metrics() const {
    return run::read_metrics(run::latest_run(out()).value() / "metrics.jsonl");
  }
  [[nodiscard]] std::ptrdiff_t run_count() const {
    return std::distance(fs::directory_iterator(out()), fs::directory_iterator());
  }

 private:
  [[nodiscard]] fs::path out() const { return folder_ / "runs"; }

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
  REQUIRE(expected.size() == kSteps);
  REQUIRE(found.size() == kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) {
    CHECK(found[i].loss == expected[i].loss);
    CHECK(found[i].validation_loss == expected[i].validation_loss);
    CHECK(found[i].gradient_norm == expected[i].gradient_norm);
    CHECK(found[i].sample_ids == expected[i].sample_ids);
    CHECK(found[i].count == expected[i].count);
  }
}

void check_same_samples(const std::vector<run::StepMetrics>& found, const std::vector<run::StepMetrics>& expected) {
  REQUIRE(found.size() == kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) {
    CHECK(found[i].sample_ids == expected[i].sample_ids);
    // Sums in another order differ by 1e-6 of the loss at first, and six AdamW steps of 2e-3 at most carry that on
    // (tests/06_gpt_ddp/train_gpt_ddp_test.cpp).
    CHECK(std::abs(found[i].loss - expected[i].loss) < 1e-3);
  }
}

}  // namespace

TEST_CASE("where the ranks divide the batch, the elastic trainer takes the steps of train_gpt_ddp bit for bit",
          "[elastic][pair]") {
  const auto [world_size, more] = GENERATE(std::pair(1, Options{}), std::pair(2, Options{}), std::pair(4, Options{}),
                                           std::pair(2, Options{"--accumulation-steps", "2"}));
  check_equal(metrics_of("train_gpt_elastic", world_size, more), metrics_of("train_gpt_ddp", world_size, more));
}

TEST_CASE("five ranks train on the same batches of twelve as one does", "[elastic][pair]") {
  const Options more = GENERATE(Options{}, Options{"--accumulation-steps", "2"});
  const auto expected = metrics_of("train_gpt_ddp", 1), found = metrics_of("train_gpt_elastic", 5, more);
  check_same_samples(found, expected);
  for (std::size_t i = 0; i < kSteps; ++i) CHECK(found[i].count == expected[i].count);
}

TEST_CASE("started again, the elastic trainer goes on by itself, with as many ranks as there are", "[elastic]") {
  const Job job;
  REQUIRE(job.train("train_gpt_elastic", 4, {"--stop-after", "2"}).exit_code == 0);
  REQUIRE(job.train("train_gpt_elastic", 5, {"--stop-after", "4"}).exit_code == 0);
  const test::Finished last = job.train("train_gpt_elastic", 1);
  INFO(last.out << last.err);
  CHECK(last.exit_code == 0);
  CHECK_THAT(last.out, ContainsSubstring("resumed at step 4\n"));
  CHECK(job.run_count() == 1);
  check_same_samples(job.metrics(), metrics_of("train_gpt_ddp", 1));
}

TEST_CASE("a job that loses a rank and may restart ends with the losses of one that lost nobody", "[elastic]") {
  const Job job;
  // Rank 1 cannot be in step 6 before rank 0 has begun to save what is after step 4; in step 5 it can.
  const test::Finished finished =
      job.train("train_gpt_elastic", 3, {}, {"--max-restarts", "1", "--inject", "rank=1 step=6 kill"});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK_THAT(finished.err, ContainsSubstring("rank 1 was killed by SIGKILL") && ContainsSubstring("restart 1 of 1"));
  CHECK_THAT(finished.out, ContainsSubstring("resumed at step 4\n"));
  CHECK(job.run_count() == 1);
  check_equal(job.metrics(), metrics_of("train_gpt_elastic", 3));
}

TEST_CASE("a batch with fewer samples than ranks is refused", "[elastic]") {
  const Job job;
  const test::Finished finished = job.train("train_gpt_elastic", 4, {"--batch-size", "3"});
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.err, ContainsSubstring("--batch-size 3 cannot be divided among 4 ranks: use at least 4"));
}
