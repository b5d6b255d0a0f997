#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "base/file.hpp"
#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/steep_checkpoint.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

// Tests run beside each other: more threads would only wait for one another.
const std::vector<std::pair<std::string, std::string>> kOneThread{{"OMP_NUM_THREADS", "1"}};

/// A folder with a short text, and runs of the trainer on it.
class Trainer {
 public:
  Trainer() {
    std::string text;
    for (int i = 0; i < 120; ++i)
      text += "She sells sea shells by the sea shore, number " + std::to_string(i % 7) + ".\n";
    write_file(folder_ / "text.txt", text);
  }

  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> command{test::built_program("train_gpt_single"), "--out", out().string()};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  /// A small training on the text.
  [[nodiscard]] test::Finished train(std::vector<std::string> more,
                                     std::vector<std::pair<std::string, std::string>> environment = {}) const {
    const std::vector<std::string> usual{"--data", (folder_ / "text.txt").string(), "--batch-size", "4"};
    more.insert(more.begin(), usual.begin(), usual.end());
    environment.insert(environment.end(), kOneThread.begin(), kOneThread.end());
    return test::run_program(command(more), environment);
  }

  [[nodiscard]] test::Finished resume(const fs::path& run) const {
    return test::run_program(command({"--resume", run.string()}), kOneThread);
  }

  [[nodiscard]] fs::path out() const { return folder_ / "runs"; }
  [[nodiscard]] fs::path latest() const { return run::latest_run(out()).value(); }

 private:
  test::TemporaryFolder folder_;
};

std::vector<run::StepMetrics> metrics_of(const fs::path& run) { return run::read_metrics(run / "metrics.jsonl"); }

fs::path last_checkpoint(const fs::path& run) {
  fs::path last;
  for (const auto& entry : fs::directory_iterator(run::checkpoints_of(run))) last = std::max(last, entry.path());
  return last;
}

}  // namespace

TEST_CASE("training lowers the loss and leaves a complete run folder", "[05]") {
  const Trainer trainer;
  const test::Finished run = trainer.train({"--steps", "40", "--sample-tokens", "20"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.out, ContainsSubstring("parameters"));
  CHECK_THAT(run.out, ContainsSubstring("step 40/40"));
  CHECK_THAT(run.out, ContainsSubstring("The model writes:"));

  const fs::path folder = trainer.latest();
  const std::vector<run::StepMetrics> steps = metrics_of(folder);
  REQUIRE(steps.size() == 40);
  // Before the first update every byte is about equally likely, ln 256 = 5.545; the text has some 25 different ones.
  CHECK(steps.front().loss == Approx(5.545).margin(0.3));
  CHECK(steps.back().loss < 3.3);
  CHECK(std::ranges::any_of(steps, [](const run::StepMetrics& step) { return step.data_wait.count() > 0; }));
  REQUIRE(steps.back().validation_loss.has_value());
  CHECK(*steps.back().validation_loss < 3.3);

  const std::string report = read_file(folder / "report.html");
  for (const char* part : {"<svg", "Loss", "Throughput", "Timeline", "The model writes", "rank 0"}) {
    CHECK_THAT(report, ContainsSubstring(part));
  }

  const test::Finished text = test::run_program(
      {test::built_program("generate"), folder.string(), "--prompt", "She ", "--tokens", "10", "--temperature", "0"},
      kOneThread);
  INFO(text.err);
  CHECK(text.exit_code == 0);
  CHECK(text.out.size() == 4 + 10 + 1);
}

TEST_CASE("a resumed run equals one that was never interrupted, bit for bit", "[05]") {
  const Trainer whole, parts;
  const std::vector<std::string> more =
      GENERATE(std::vector<std::string>{}, std::vector<std::string>{"--bf16"},
               std::vector<std::string>{"--optimizer", "sgd", "--no-async-save"},
               std::vector<std::string>{"--optimizer", "adam", "--schedule", "linear", "--reference-batch-size", "2"});
  std::vector<std::string> options{"--steps", "10", "--dropout", "0.1", "--seed", "3", "--sample-tokens", "0"};
  options.insert(options.end(), more.begin(), more.end());
  REQUIRE(whole.train(options).exit_code == 0);
  std::vector<std::string> first_half = options;
  first_half.insert(first_half.end(), {"--stop-after", "5"});
  const test::Finished stopped = parts.train(first_half);
  REQUIRE(stopped.exit_code == 0);
  CHECK_THAT(stopped.out, ContainsSubstring("stopped after step 5 of 10"));
  CHECK_THAT(stopped.out, ContainsSubstring("--resume " + parts.latest().string()));
  const test::Finished resumed = parts.resume(parts.latest());
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);

  const auto expected = metrics_of(whole.latest()), found = metrics_of(parts.latest());
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(found[i].loss == expected[i].loss);
    CHECK(found[i].gradient_norm == expected[i].gradient_norm);
    CHECK(found[i].learning_rate == expected[i].learning_rate);
  }
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    CHECK(read_file(last_checkpoint(parts.latest()) / file) == read_file(last_checkpoint(whole.latest()) / file));
  }
}

TEST_CASE("training in bfloat16 follows training in float32, with and without bfloat16 instructions", "[05][bf16]") {
  const Trainer exact, rounded, emulated;
  const std::vector<std::string> options{"--steps", "10", "--sample-tokens", "0"};
  std::vector<std::string> with_bf16 = options;
  with_bf16.emplace_back("--bf16");
  REQUIRE(exact.train(options).exit_code == 0);
  const test::Finished run = rounded.train(with_bf16);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.out, ContainsSubstring("bfloat16 activations and products, float32 weights"));
  const test::Finished without = emulated.train(with_bf16, {{"ONEDNN_MAX_CPU_ISA", "AVX512_CORE"}});
  REQUIRE(without.exit_code == 0);
  CHECK_THAT(without.out, ContainsSubstring("emulated"));
  CHECK(without.out.find("emulated") == without.out.rfind("emulated"));

  const auto expected = metrics_of(exact.latest()), found = metrics_of(rounded.latest()),
             also_found = metrics_of(emulated.latest());
  REQUIRE(found.size() == expected.size());
  CHECK(found.front().loss != expected.front().loss);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    // 42 roundings of activations and 17 of weights each way through 4 blocks, of 2^-8 at most, add in squares.
    const double tolerance = std::sqrt(2.0 * (42 + 17)) / 256;
    CHECK(found[i].loss == Approx(expected[i].loss).epsilon(tolerance));
    CHECK(also_found[i].loss == Approx(expected[i].loss).epsilon(tolerance));
  }
  // Logits of a new model deviate by 0.02 sqrt(128) = 0.23; the loss in the first step errs by their error at most.
  CHECK(std::abs(found.front().loss - expected.front().loss) < 0.23 * std::sqrt(42.0 + 17.0) / 256);
  CHECK(std::abs(also_found.front().loss - found.front().loss) < 0.23 * std::sqrt(42.0 + 17.0) / 256);
}

TEST_CASE("activation checkpointing changes no loss and no weight", "[05][checkpoint]") {
  const Trainer plain, checkpointed;
  std::vector<std::string> options{"--steps", "4", "--dropout", "0.1", "--sample-tokens", "0"};
  REQUIRE(plain.train(options).exit_code == 0);
  options.emplace_back("--activation-checkpointing");
  REQUIRE(checkpointed.train(options).exit_code == 0);
  const auto file = [](const Trainer& trainer) {
    return read_file(last_checkpoint(trainer.latest()) / "model.safetensors");
  };
  CHECK(file(plain) == file(checkpointed));
}

TEST_CASE("equal seeds give equal runs, another seed another one", "[05]") {
  const Trainer a, b, c;
  REQUIRE(a.train({"--steps", "2", "--sample-tokens", "0"}).exit_code == 0);
  REQUIRE(b.train({"--steps", "2", "--sample-tokens", "0"}).exit_code == 0);
  REQUIRE(c.train({"--steps", "2", "--sample-tokens", "0", "--seed", "2"}).exit_code == 0);
  CHECK(metrics_of(a.latest()).back().loss == metrics_of(b.latest()).back().loss);
  CHECK(metrics_of(a.latest()).back().loss != metrics_of(c.latest()).back().loss);
}

TEST_CASE("Ctrl-C stops between two steps with a checkpoint and says how to go on", "[05]") {
  const Trainer trainer;
  test::Subprocess process(trainer.command({"--batch-size", "2", "--steps", "1000000", "--validate-every", "0"}),
                           kOneThread);
  REQUIRE(process.wait_for_output("step       1/1000000"));
  process.send_signal(SIGINT);
  const test::Finished run = process.wait();
  CHECK(run.exit_code == 130);
  CHECK_THAT(run.out, ContainsSubstring("--resume " + trainer.latest().string()));
}

TEST_CASE("a loss that is not finite names rank and step", "[05]") {
  const Trainer trainer;
  const test::Finished run = trainer.train({"--steps", "9", "--learning-rate", "1e38", "--warmup-steps", "0"});
  CHECK(run.exit_code == 1);
  CHECK_THAT(run.err, ContainsSubstring("rank 0: the loss is"));
  CHECK_THAT(run.err, ContainsSubstring("in step 2"));
  CHECK_THAT(run.err, ContainsSubstring("--learning-rate"));
}

TEST_CASE("a gradient that is not finite ends the training before it reaches the weights", "[05]") {
  const Trainer trainer;
  REQUIRE(trainer.train({"--steps", "3", "--stop-after", "1", "--sample-tokens", "0"}).exit_code == 0);
  test::make_gradient_infinite(trainer.latest());
  const test::Finished run = trainer.resume(trainer.latest());
  CHECK(run.exit_code == 1);
  CHECK_THAT(run.err, ContainsSubstring("rank 0: the norm of the gradient is") && ContainsSubstring("in step 2;"));
}

TEST_CASE("a text shorter than a batch, and a wrong option, are answered in one line", "[05]") {
  const Trainer trainer;
  const test::Finished run = trainer.train({"--batch-size", "1000"});
  CHECK(run.exit_code == 1);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  const test::Finished wrong = trainer.train({"--step", "5"});
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("did you mean --steps?"));
}
