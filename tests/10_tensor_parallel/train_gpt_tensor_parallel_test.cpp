// The pair train_gpt_single and train_gpt_tensor_parallel as processes: the same losses, and checkpoints that each of
// them continues.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "run/metrics.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"
#include "support/training_job.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

// A text, and a run that has been trained on it.
class Job {
 public:
  Job() { test::write_words(folder_.path() / "text.txt", 4000); }

  // @param world_size  0: train_gpt_single.
  [[nodiscard]] test::Finished train(int world_size, const std::vector<std::string>& more) const {
    std::vector<std::string> command;
    if (world_size > 0)
      command = {test::built_program("lockstep"), "launch", "--nproc", std::to_string(world_size), "--"};
    command.push_back(test::built_program(world_size == 0 ? "train_gpt_single" : "train_gpt_tensor_parallel"));
    const std::vector<std::string> options{"--data",
                                           (folder_.path() / "text.txt").string(),
                                           "--batch-size",
                                           "4",
                                           "--dropout",
                                           "0.1",
                                           "--validate-every",
                                           "0",
                                           "--save-every",
                                           "0",
                                           "--sample-tokens",
                                           "0",
                                           "--out",
                                           (folder_.path() / "runs").string()};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), more.begin(), more.end());
    return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  }

  [[nodiscard]] fs::path path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] fs::path run() const { return fs::directory_iterator(folder_.path() / "runs")->path(); }
  [[nodiscard]] std::vector<run::StepMetrics> metrics() const { return run::read_metrics(run() / "metrics.jsonl"); }
  // Of the last checkpoint.
  [[nodiscard]] std::string file(const std::string& name, const std::string& step) const {
    return read_file(run() / "checkpoints" / ("step_0000000" + step) / name);
  }

 private:
  test::TemporaryFolder folder_;
};

void check_follows(const Job& found, const Job& expected) {
  const auto own = found.metrics(), wanted = expected.metrics();
  REQUIRE(own.size() == wanted.size());
  REQUIRE_FALSE(wanted.empty());
  for (std::size_t i = 0; i < own.size(); ++i) {
    INFO("step " << i + 1);
    CHECK(own[i].loss == Approx(wanted[i].loss).epsilon(1e-6));
    CHECK(own[i].gradient_norm.value() == Approx(wanted[i].gradient_norm.value()).epsilon(1e-5));
  }
  CHECK(own.back().validation_loss.value() == Approx(wanted.back().validation_loss.value()).epsilon(1e-6));
}

}  // namespace

TEST_CASE("divided among 2 and 4 ranks, a GPT trains as on one", "[tensor_parallel][pair][multirank]") {
  const Job expected;
  require_success(expected.train(0, {"--steps", "5"}));
  for (const int world_size : {2, 4}) {
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--sequence-parallel"}}) {
      INFO(world_size << " ranks" << (more.empty() ? "" : " with " + more.front()));
      std::vector<std::string> options{"--steps", "5"};
      options.insert(options.end(), more.begin(), more.end());
      const Job found;
      const test::Finished finished = found.train(world_size, options);
      require_success(finished);
      check_follows(found, expected);
      const char* const rows = more.empty() ? "" : ", sequence parallel";
      CHECK_THAT(finished.out, ContainsSubstring(concat("  grid    tensor ", world_size, rows, "\n")));
    }
  }
}

TEST_CASE("at one rank it writes the baseline's bits", "[tensor_parallel][pair]") {
  const std::vector<std::string> options =
      GENERATE(std::vector<std::string>{"--accumulation-steps", "2", "--activation-checkpointing"},
               std::vector<std::string>{"--optimizer", "sgd", "--bf16", "--sequence-parallel"});
  std::vector<std::string> all{"--steps", "3"};
  all.insert(all.end(), options.begin(), options.end());
  const Job expected, found;
  std::vector<std::string> single = all;
  std::erase(single, "--sequence-parallel");
  require_success(expected.train(0, single));
  require_success(found.train(1, all));
  for (const char* const name : {"model.safetensors", "optimizer.safetensors"}) {
    INFO(name);
    const bool is_equal = found.file(name, "3") == expected.file(name, "3");
    CHECK(is_equal);
  }
  for (std::size_t i = 0; i < 3; ++i) CHECK(found.metrics().at(i).loss == expected.metrics().at(i).loss);
}

TEST_CASE("a run goes on with any number of ranks", "[tensor_parallel][pair][multirank]") {
  const Job expected;
  require_success(expected.train(0, {"--steps", "4"}));
  for (const auto& [first, second] : {std::pair{2, 4}, {4, 0}, {0, 2}}) {
    INFO(first << " ranks, then " << second << " (0: train_gpt_single)");
    const Job found;
    require_success(found.train(first, {"--steps", "4", "--stop-after", "2"}));
    require_success(found.train(second, {"--resume", found.run().string()}));
    check_follows(found, expected);
  }
}

TEST_CASE("the initial weights of all ranks are those of one", "[tensor_parallel][pair][multirank]") {
  const Job job;
  require_success(job.train(0, {"--steps", "1", "--export-initial", job.path("single").string()}));
  require_success(job.train(4, {"--steps", "1", "--export-initial", job.path("four").string()}));
  const bool is_equal = read_file(job.path("single")) == read_file(job.path("four"));
  CHECK(is_equal);
}

TEST_CASE("a divided model generates the text at the end from its checkpoint", "[tensor_parallel][multirank]") {
  const Job job;
  const test::Finished finished =
      job.train(2, {"--steps", "2", "--sample-tokens", "20", "--prompt", "some words", "--accumulation-steps", "2",
                    "--bf16", "--optimizer", "sgd", "--activation-checkpointing", "--uneven", "--sequence-parallel"});
  require_success(finished);
  CHECK_THAT(finished.out, ContainsSubstring("some words"));
}

TEST_CASE("what tensor-parallel ranks cannot do is refused in a sentence", "[tensor_parallel]") {
  const Job job;
  const auto refusal = [&](int world_size, const std::vector<std::string>& options) {
    const test::Finished finished = job.train(world_size, options);
    CHECK(finished.exit_code == 2);
    return finished.out + finished.err;
  };
  CHECK_THAT(refusal(3, {}), ContainsSubstring("4 heads do not divide among 3 ranks; use 2 or 4"));
  CHECK_THAT(refusal(4, {"--vocabulary-size", "3"}), ContainsSubstring("--vocabulary-size 3 is too small for 4 ranks"));
  CHECK_THAT(refusal(2, {"--vocabulary-size", "3"}),
             ContainsSubstring("too small for the 256 tokens of the tokenizer"));
  CHECK_THAT(refusal(2, {"--no-sync"}), ContainsSubstring("--no-sync is for train_gpt_ddp"));
  CHECK_THAT(refusal(2, {"--compress-gradients", "bf16"}),
             ContainsSubstring("--compress-gradients is for train_gpt_ddp"));
  CHECK_THAT(refusal(2, {"--check-replicas", "5"}), ContainsSubstring("--check-replicas is for train_gpt_ddp"));
}

TEST_CASE("the ranks of mpirun count before they begin", "[tensor_parallel]") {
  const test::Finished finished =
      test::check_options_under_mpirun({test::built_program("train_gpt_tensor_parallel")}, 7);
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("heads do not divide among 7 ranks"));
}

TEST_CASE("column_row agrees with the uncut product and sends two sums", "[tensor_parallel]") {
  for (const char* const ranks : {"1", "2", "3", "4", "32"}) {
    const auto finished = test::run_program({test::built_program("column_row"), "--ranks", ranks});
    CHECK(finished.exit_code == 0);  // 1 if a difference is 1e-12 or more
    CHECK_THAT(finished.out, ContainsSubstring("forward:  1 all-reduce (z)"));
    CHECK_THAT(finished.out, ContainsSubstring("backward: 1 all-reduce (d_x)"));
  }
  const auto four = test::run_program({test::built_program("column_row")});
  // 2 (t - 1) / t of [6, 8] doubles.
  CHECK_THAT(four.out, ContainsSubstring("576 bytes sent by each rank"));
}
