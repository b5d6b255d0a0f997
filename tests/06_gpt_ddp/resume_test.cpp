// train_gpt_ddp stopped and resumed: at the same number of ranks bit for bit, at another with the same samples.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/steep_checkpoint.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

constexpr int kSteps = 8;

/// A folder with a text, and training runs on it.
class Job {
 public:
  Job() {
    std::string text;
    for (int i = 0; i < 120; ++i) text += "Ring after ring, rank after rank, number " + std::to_string(i % 9) + ".\n";
    write_file(folder_ / "text.txt", text);
  }

  /// A training of 8 steps; `more` may stop it before.
  [[nodiscard]] test::Finished train(int world_size, const std::vector<std::string>& more) const {
    std::vector<std::string> options{"--data",          (folder_ / "text.txt").string(),
                                     "--steps",         std::to_string(kSteps),
                                     "--batch-size",    "6",
                                     "--dropout",       "0.1",
                                     "--sample-tokens", "0",
                                     "--log-batches",   "--out",
                                     out().string()};
    options.insert(options.end(), more.begin(), more.end());
    return start(world_size, options);
  }

  [[nodiscard]] test::Finished resume(int world_size, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> options{"--resume", run().string(), "--out", out().string()};
    options.insert(options.end(), more.begin(), more.end());
    return start(world_size, options);
  }

  [[nodiscard]] fs::path run() const { return run::latest_run(out()).value(); }
  [[nodiscard]] std::vector<run::StepMetrics> metrics() const { return run::read_metrics(run() / "metrics.jsonl"); }
  [[nodiscard]] std::string last_saved(const char* file) const {
    fs::path last;
    for (const auto& entry : fs::directory_iterator(run::checkpoints_of(run()))) last = std::max(last, entry.path());
    return read_file(last / file);
  }

 private:
  [[nodiscard]] fs::path out() const { return folder_ / "runs"; }
  [[nodiscard]] static test::Finished start(int world_size, const std::vector<std::string>& options) {
    std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc",
                                     std::to_string(world_size),      "--",     test::built_program("train_gpt_ddp")};
    command.insert(command.end(), options.begin(), options.end());
    return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  }

  test::TemporaryFolder folder_;
};

// Each step's samples in rising order.
std::vector<std::vector<std::int64_t>> samples_of(const std::vector<run::StepMetrics>& steps) {
  std::vector<std::vector<std::int64_t>> samples;
  for (const run::StepMetrics& step : steps) {
    samples.push_back(step.sample_ids);
    std::ranges::sort(samples.back());
  }
  return samples;
}

}  // namespace

TEST_CASE("a resumed job equals one that was never interrupted, bit for bit at the same number of ranks",
          "[ddp][checkpoint]") {
  const std::vector<std::string> optimizer =
      GENERATE(std::vector<std::string>{"--optimizer", "adamw"},
               std::vector<std::string>{"--optimizer", "sgd", "--nesterov", "--learning-rate", "0.05"});
  const Job whole, parts;
  REQUIRE(whole.train(2, optimizer).exit_code == 0);
  std::vector<std::string> first = optimizer;
  first.insert(first.end(), {"--stop-after", "5", "--save-every", "2"});
  REQUIRE(parts.train(2, first).exit_code == 0);
  const test::Finished resumed = parts.resume(2);
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  const auto expected = whole.metrics(), found = parts.metrics();
  REQUIRE(found.size() == kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) {
    CHECK(found[i].loss == expected[i].loss);
    CHECK(found[i].gradient_norm == expected[i].gradient_norm);
    CHECK(found[i].sample_ids == expected[i].sample_ids);
  }
  for (const char* file : {"model.safetensors", "optimizer.safetensors"})
    CHECK(parts.last_saved(file) == whole.last_saved(file));
}

TEST_CASE("a job resumed at another number of ranks goes on with the same samples", "[ddp][checkpoint]") {
  const Job whole, parts;
  REQUIRE(whole.train(1, {}).exit_code == 0);
  REQUIRE(parts.train(3, {"--stop-after", "4"}).exit_code == 0);
  const test::Finished resumed = parts.resume(1);  // rank 0 then has, and logs, the whole batch
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  const auto expected = whole.metrics(), found = parts.metrics();
  REQUIRE(found.size() == kSteps);
  const auto expected_samples = samples_of(expected), found_samples = samples_of(found);
  for (std::size_t i = 4; i < kSteps; ++i) {
    CHECK(found_samples[i].size() == 6);
    CHECK(found_samples[i] == expected_samples[i]);
    // Sums in another order differ by 1e-6 of the loss at first, and eight AdamW steps of 2e-3 at most carry that on.
    CHECK(std::abs(found[i].loss - expected[i].loss) < 1e-3);
  }
}

TEST_CASE("a norm that is not finite ends all ranks before it reaches the weights", "[ddp][fault]") {
  const Job job;
  REQUIRE(job.train(2, {"--stop-after", "1"}).exit_code == 0);
  test::make_gradient_infinite(job.run());
  // Averaging would find the gradient itself. Without it, nothing but the norm does.
  const test::Finished resumed = job.resume(2, {"--no-sync"});
  CHECK(resumed.exit_code == 1);
  CHECK_THAT(resumed.err, ContainsSubstring("the norm of the gradient is") && ContainsSubstring("in step 2;"));
}
