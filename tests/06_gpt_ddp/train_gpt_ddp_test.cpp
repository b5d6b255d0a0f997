// The pair train_gpt_single -> train_gpt_ddp as processes: what a rank count may change, and what it must not.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
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

using test::TemporaryFolder;

std::vector<std::string> training_options(const fs::path& folder, const std::string& seed) {
  test::write_words(folder / "text.txt", 4000);
  return {"--data",
          (folder / "text.txt").string(),
          "--steps",
          "5",
          "--batch-size",
          "12",
          "--seed",
          seed,
          "--dropout",
          "0.1",
          "--validate-every",
          "5",
          "--save-every",
          "0",
          "--sample-tokens",
          "0",
          "--out",
          (folder / "runs").string()};
}

// world_size 0: train_gpt_single. `more` follows the other options, and overrides one that it repeats.
test::Finished train(const fs::path& folder, int world_size, const std::string& seed,
                     const std::vector<std::string>& more) {
  std::vector<std::string> command;
  if (world_size == 0) {
    command = {test::built_program("train_gpt_single")};
  } else {
    command = {test::built_program("lockstep"), "launch", "--nproc",
               std::to_string(world_size),      "--",     test::built_program("train_gpt_ddp")};
  }
  auto options = training_options(folder, seed);
  if (std::ranges::find(more, "--epochs") != more.end()) options.erase(options.begin() + 2, options.begin() + 4);
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), more.begin(), more.end());
  return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
}

/// Trains and returns the metrics.
std::vector<run::StepMetrics> metrics_of(int world_size, const std::string& seed = "1",
                                         const std::vector<std::string>& more = {}) {
  const TemporaryFolder folder;
  const test::Finished finished = train(folder.path(), world_size, seed, more);
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  for (const auto& run : fs::directory_iterator(folder.path() / "runs")) {
    return run::read_metrics(run.path() / "metrics.jsonl");
  }
  return {};
}

std::vector<double> losses_of(const std::vector<run::StepMetrics>& metrics) {
  std::vector<double> losses;
  for (const run::StepMetrics& step : metrics) losses.push_back(step.loss);
  if (!metrics.empty()) losses.push_back(metrics.back().validation_loss.value_or(-1));
  return losses;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

std::string whole_file(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The processes that were started as that rank of the job whose arguments name `folder`.
std::vector<pid_t> processes_of_rank(int rank, const fs::path& folder) {
  using namespace std::string_literals;
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string environment = "\0"s + whole_file(entry.path() / "environ");
    const bool is_rank = environment.find("\0RANK="s + std::to_string(rank) + "\0"s) != std::string::npos;
    if (!is_rank || whole_file(entry.path() / "cmdline").find(folder.string()) == std::string::npos) continue;
    found.push_back(static_cast<pid_t>(std::stol(entry.path().filename())));
  }
  return found;
}

}  // namespace

TEST_CASE("one rank of train_gpt_ddp equals train_gpt_single bit for bit, and another seed does not", "[ddp][pair]") {
  const auto baseline = losses_of(metrics_of(0));
  REQUIRE(baseline.size() == 6);
  CHECK(losses_of(metrics_of(1)) == baseline);
  CHECK(largest_difference(losses_of(metrics_of(1, "2")), baseline) > 1e-3);
}

TEST_CASE("on emulated devices two ranks of NCCL's look-alike take the steps of the CPU", "[ddp][pair][nccl]") {
  const std::vector<std::string> few{"--steps", "2", "--batch-size", "2", "--validate-every", "0", "--dropout", "0"};
  std::vector<std::string> on_devices = few;
  on_devices.insert(on_devices.end(), {"--device", "emulated", "--backend", "nccl"});
  const auto losses = losses_of(metrics_of(2, "1", on_devices));
  REQUIRE(losses.size() >= 2);
  // Losses near 5.5: sums of float32 terms in another order, as between world sizes below.
  CHECK(largest_difference(losses, losses_of(metrics_of(2, "1", few))) < 1e-4);
  CHECK(largest_difference(losses, losses_of(metrics_of(2, "2", few))) > 1e-3);
}

TEST_CASE("every backend of the host takes the same steps", "[ddp][pair]") {
  // a + b is b + a: with two ranks no order of additions differs.
  const auto of_ring = losses_of(metrics_of(2, "1", {"--backend", "ring"}));
  for (const char* backend : {"star", "shared_memory", "auto"})
    CHECK(losses_of(metrics_of(2, "1", {"--backend", backend})) == of_ring);
  const TemporaryFolder folder;
  const test::Finished wrong = train(folder.path(), 2, "1", {"--backend", "rings"});
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err + wrong.out, ContainsSubstring("--backend") && ContainsSubstring("rings"));
}

TEST_CASE("several ranks with the same global batch follow the single process up to rounding", "[ddp][pair]") {
  const auto baseline = losses_of(metrics_of(0));
  const int world_size = GENERATE(2, 3, 4);
  // Losses near 5.5 are sums of 12 * 128 float32 terms in another order: about 1e-6 in the first step. An AdamW step
  // of size 2e-3 turns relative gradient errors of 1e-6 into weight errors below 1e-7 per step for all but vanishing
  // gradients, whose sign can flip; four such steps stay below 1e-3 of the loss by a wide margin.
  const auto distributed = losses_of(metrics_of(world_size));
  CHECK(largest_difference(distributed, baseline) < 1e-3);
  CHECK(std::abs(distributed.at(0) - baseline.at(0)) < 1e-5);
}

TEST_CASE("accumulating over micro-batches takes the steps of the whole batch, dropout included", "[ddp][pair]") {
  const auto baseline = losses_of(metrics_of(0));
  const int world_size = GENERATE(0, 2);
  const std::string parts = GENERATE("2", "6");
  // The tolerances of the test above: again the same terms in another order.
  const auto accumulated = losses_of(metrics_of(world_size, "1", {"--accumulation-steps", parts}));
  CHECK(largest_difference(accumulated, baseline) < 1e-3);
  CHECK(std::abs(accumulated.at(0) - baseline.at(0)) < 1e-5);
}

TEST_CASE("the option --uneven uses each sample once, and follows the single process where ranks get unequal batches",
          "[ddp][pair]") {
  // The text has 155 samples to train on: twelve batches of 12 and one of 11, of which some ranks get one less.
  const std::vector<std::string> one_epoch{"--uneven", "--epochs", "1"};
  const auto baseline = metrics_of(0, "1", one_epoch);
  REQUIRE(baseline.size() > 1);
  const std::int64_t rest = baseline.back().count;
  REQUIRE(rest < baseline.front().count);
  const int world_size = GENERATE(2, 4);
  const auto uneven = metrics_of(world_size, "1", one_epoch);
  CHECK(largest_difference(losses_of(uneven), losses_of(baseline)) < 1e-3);
  CHECK(uneven.back().count == rest);
}

TEST_CASE("the metrics of several ranks say who was slowest and how much memory each took", "[ddp][pair]") {
  const auto metrics = metrics_of(3);
  REQUIRE(metrics.size() == 5);
  run::StepMetrics::Milliseconds exposed{}, data_wait{};
  for (const run::StepMetrics& step : metrics) {
    CHECK((step.slowest_rank >= 0 && step.slowest_rank < 3));
    REQUIRE(step.peak_memory_mib.size() == 3);
    for (const double peak : step.peak_memory_mib) CHECK(peak > 5);  // the model and its optimizer alone
    REQUIRE(step.exposed_communication.has_value());
    exposed += *step.exposed_communication;
    data_wait += step.data_wait;
  }
  CHECK(exposed.count() > 0);
  CHECK(data_wait.count() > 0);
}

TEST_CASE("several ranks show exposed communication, data wait, the slowest rank and memory in line and report",
          "[ddp][pair]") {
  const TemporaryFolder folder;
  const test::Finished finished = train(folder.path(), 2, "1", {});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  for (const char* part : {"  exposed ", "  slowest rank ", "  data ", "  peak "}) {
    CHECK_THAT(finished.out, ContainsSubstring(part));
  }
  const std::string report = whole_file(run::latest_run(folder.path() / "runs").value() / "report.html");
  const std::size_t table = report.find("time goes");
  REQUIRE(table != std::string::npos);
  for (const char* part :
       {"waiting for data", "rank 0", "rank 1", "waiting for other ranks", "MiB at most", "slowest"}) {
    CHECK_THAT(report.substr(table), ContainsSubstring(part));
  }
}

TEST_CASE("bfloat16 on the wire trains nearly as well", "[ddp][pair]") {
  const auto exact = losses_of(metrics_of(2));
  const auto compressed = losses_of(metrics_of(2, "1", {"--compress-gradients", "bf16"}));
  CHECK(compressed != exact);
  // A gradient off by 2^-8 of itself moves an Adam step by less than that; five steps change a loss of 5 by about 0.5.
  CHECK(largest_difference(compressed, exact) < 0.02);
}

TEST_CASE("the option --no-sync lets the replicas drift, and the comparison names tensor, rank and step",
          "[ddp][pair]") {
  const TemporaryFolder folder;
  const test::Finished finished = train(folder.path(), 2, "1", {"--no-sync", "--check-replicas", "3"});
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.err + finished.out, ContainsSubstring("drifted apart after step 3") &&
                                              ContainsSubstring("wte.weight") && ContainsSubstring("rank 1"));
}

TEST_CASE("in bfloat16 one rank equals the single process, and several follow it", "[ddp][pair][bf16]") {
  const auto baseline = losses_of(metrics_of(0, "1", {"--bf16"}));
  CHECK(losses_of(metrics_of(1, "1", {"--bf16"})) == baseline);
  // Each sample is computed as in one process: its rows of activations are the same bits. Only the order differs in
  // which float32 gradients are added, as without --bf16. A weight that is then the next float32 can be rounded to the
  // next bfloat16, 2^-8 away, in the products of later steps: at most the roundings that bfloat16 has in any case, of
  // 42 activations and 17 weights each way.
  const int world_size = GENERATE(2, 4);
  const auto distributed = losses_of(metrics_of(world_size, "1", {"--bf16"}));
  CHECK(std::abs(distributed.at(0) - baseline.at(0)) < 1e-5);
  CHECK(largest_difference(distributed, baseline) < baseline.at(0) * std::sqrt(2.0 * (42 + 17)) / 256);
}

TEST_CASE("a rank killed in training ends the job, and the message names it", "[ddp][fault]") {
  const TemporaryFolder folder;
  auto options = training_options(folder.path(), "1");
  options[3] = "100000";
  std::vector<std::string> command{test::built_program("lockstep"),     "launch", "--nproc", "3", "--",
                                   test::built_program("train_gpt_ddp")};
  command.insert(command.end(), options.begin(), options.end());
  test::Subprocess job(command, {{"OMP_NUM_THREADS", "1"}});
  REQUIRE(job.wait_for_output("step "));
  const std::vector<pid_t> ranks = processes_of_rank(1, folder.path());
  REQUIRE_FALSE(ranks.empty());
  for (const pid_t pid : ranks) test::signal_process(pid, SIGKILL);
  const test::Finished finished = job.wait();
  CHECK(finished.exit_code == 128 + SIGKILL);
  CHECK_THAT(finished.err, ContainsSubstring("rank 1") && ContainsSubstring("SIGKILL"));
  CHECK(test::wait_until_gone(ranks).empty());
}
