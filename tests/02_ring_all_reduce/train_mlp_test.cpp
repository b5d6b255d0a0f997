#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/pair_checks.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

test::Finished train(const fs::path& out, std::vector<std::string> more) {
  more.insert(more.begin(), {test::built_program("train_mlp_single"), "--out", out.string()});
  return test::run_program(more, {{"OMP_NUM_THREADS", "1"}});
}

std::vector<double> losses_of(const fs::path& run) {
  std::vector<double> losses;
  for (const run::StepMetrics& step : run::read_metrics(run / "metrics.jsonl")) losses.push_back(step.loss);
  return losses;
}

}  // namespace

TEST_CASE("train_mlp_ring trains what train_mlp_single trains", "[ring][chapter][multirank]") {
  // As for the linear pair, 48 * 2^-24 = 3e-6 of the first loss through each layer's gradient, of which there are two,
  // rounded up. Adam turns a gradient into a step of fixed size, so if a gradient all but cancels, rounding may turn
  // a step's sign; but such an element hardly moves the loss. Measured: 5e-8.
  test::check_pair("train_mlp_single", "train_mlp_ring", 1e-5, test::LossesIn::kRunFolder);
}

TEST_CASE("each sample of the ranks' common batch counts once, and rank 0 writes the run folder", "[ring][multirank]") {
  const test::TemporaryFolder folder;
  const auto ranks = test::run_on_ranks(
      3, "train_mlp_ring", {"--steps", "4", "--validate-every", "2", "--log-batches", "--out", folder.path().string()});
  REQUIRE(ranks[0].exit_code == 0);
  CHECK_THAT(ranks[0].out, ContainsSubstring("48 samples a step, 16 on each rank") && ContainsSubstring("samples/s"));
  const fs::path run = run::latest_run(folder.path(), "mlp").value();
  const std::vector<run::StepMetrics> steps = run::read_metrics(run / "metrics.jsonl");
  REQUIRE(steps.size() == 4);
  for (const run::StepMetrics& step : steps) {
    CHECK(step.unit == run::Unit::kSamples);
    CHECK(step.count == 48);
    CHECK(std::set<std::int64_t>(step.sample_ids.begin(), step.sample_ids.end()).size() == 48);
    CHECK(step.validation_loss.has_value() == (step.step % 2 == 0));
  }
  for (const char* file : {"report.html", "options.json", "rank_2.json", "checkpoints/step_00000004"})
    CHECK(fs::exists(run / file));
}

TEST_CASE("a perceptron stopped by Ctrl-C goes on as if it had not been", "[ring][multirank]") {
  const test::TemporaryFolder whole, folder;
  const std::vector<std::string> many{"--steps", "1000000", "--validate-every", "0", "--save-every", "0"};
  std::vector<std::string> command{test::built_program("train_mlp_single"), "--out", folder.path().string()};
  command.insert(command.end(), many.begin(), many.end());
  test::Subprocess process(command, {{"OMP_NUM_THREADS", "1"}});
  REQUIRE(process.wait_for_output("step       1/1000000"));
  process.send_signal(SIGINT);
  const test::Finished stopped = process.wait();
  CHECK(stopped.exit_code == 130);
  const fs::path run = run::latest_run(folder.path(), "mlp").value();
  CHECK_THAT(stopped.out, ContainsSubstring("--resume " + run.string()));
  const std::size_t done = losses_of(run).size();
  REQUIRE(done > 0);

  const std::string steps = std::to_string(done + 7);
  const test::Finished resumed = train(folder.path(), {"--resume", run.string(), "--steps", steps});
  REQUIRE(resumed.exit_code == 0);
  CHECK_THAT(resumed.out, ContainsSubstring("resumed at step " + std::to_string(done)));
  REQUIRE(train(whole.path(), {"--steps", steps}).exit_code == 0);
  const std::vector<double> losses = losses_of(run);
  CHECK(losses.size() == done + 7);
  CHECK(losses == losses_of(run::latest_run(whole.path(), "mlp").value()));
}

TEST_CASE("the perceptron answers an option that it does not have", "[ring]") {
  const test::TemporaryFolder folder;
  const test::Finished wrong = train(folder.path(), {"--optimizer", "sgd"});
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("unknown option --optimizer"));
  CHECK(fs::is_empty(folder.path()));
}
