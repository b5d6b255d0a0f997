// Every kind of fault on demand, in a real training: it happens on the rank and in the step that were named, and what
// the user reads names it.
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "run/metrics.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> training(const fs::path& folder, const std::vector<std::string>& launch_options) {
  test::write_words(folder / "text.txt", 4000);
  std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc", "3"};
  command.insert(command.end(), launch_options.begin(), launch_options.end());
  for (const std::string& argument :
       {std::string("--"), test::built_program("train_gpt_ddp"), std::string("--data"), (folder / "text.txt").string(),
        std::string("--steps"), std::string("4"), std::string("--batch-size"), std::string("6"),
        std::string("--validate-every"), std::string("0"), std::string("--save-every"), std::string("2"),
        std::string("--sample-tokens"), std::string("0"), std::string("--out"), (folder / "runs").string()})
    command.push_back(argument);
  return command;
}

// Saves between two steps, so that which save meets a full disk does not depend on the disk.
test::Finished train(const fs::path& folder, const std::string& fault, Variables variables = {}) {
  variables.emplace_back("OMP_NUM_THREADS", "1");
  auto command = training(folder, {"--inject", fault});
  command.emplace_back("--no-async-save");
  return test::run_program(command, variables);
}

std::vector<run::StepMetrics> metrics_in(const fs::path& folder) {
  for (const auto& run : fs::directory_iterator(folder / "runs"))
    return run::read_metrics(run.path() / "metrics.jsonl");
  return {};
}

// Whether a line of that rank holds `part`.
bool rank_says(const test::Finished& job, int rank, const std::string& part) {
  const std::string prefix = "[rank " + std::to_string(rank) + "] ";
  std::istringstream lines(job.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(prefix) && line.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a killed rank is named, and the steps before it are done", "[ddp][inject]") {
  const test::TemporaryFolder folder;
  const test::Finished job = train(folder.path(), "rank=2 step=3 kill");
  INFO(job.out << job.err);
  CHECK(job.exit_code == 128 + 9);
  CHECK_THAT(job.err, ContainsSubstring("rank 2") && ContainsSubstring("injected fault: rank=2 step=3 kill"));
  CHECK_THAT(job.err, ContainsSubstring("first failure: rank 2 was killed by SIGKILL"));
  CHECK(metrics_in(folder.path()).size() == 2);
}

TEST_CASE("a stopped rank is found by its silence and named", "[ddp][inject]") {
  const test::TemporaryFolder folder;
  const test::Finished job = train(folder.path(), "rank=1 step=2 stop", {{"LOCKSTEP_LIVENESS_SECONDS", "2"}});
  INFO(job.out << job.err);
  CHECK(job.exit_code != 0);
  CHECK_THAT(job.err, ContainsSubstring("injected fault: rank=1 step=2 stop"));
  CHECK_THAT(job.err, ContainsSubstring("rank 1 has sent no heartbeat") ||
                          ContainsSubstring("no heartbeat from rank 1") || ContainsSubstring("rank 1 (the culprit)"));
}

TEST_CASE("a slow rank is the slowest in the metrics, and the training goes on", "[ddp][inject]") {
  const test::TemporaryFolder folder;
  const test::Finished job = train(folder.path(), "rank=1 step=2 slow=2s");
  INFO(job.out << job.err);
  REQUIRE(job.exit_code == 0);
  const auto metrics = metrics_in(folder.path());
  REQUIRE(metrics.size() == 4);
  for (std::size_t step = 1; step < metrics.size(); ++step) {
    CHECK(metrics[step].slowest_rank == 1);
    // Rank 0's step, which may begin a little after that of rank 1, who is 2 s late.
    CHECK(metrics[step].duration.count() >= 1500);
  }
}

TEST_CASE("a dropped connection names both of its ends", "[ddp][inject]") {
  const test::TemporaryFolder folder;
  const test::Finished job = train(folder.path(), "rank=1 step=2 drop peer=2");
  INFO(job.out << job.err);
  CHECK(job.exit_code == 1);
  CHECK_THAT(job.err, ContainsSubstring("LOCKSTEP_TRANSPORT=tcp for this job"));
  CHECK_THAT(job.err, ContainsSubstring("injected fault: rank=1 step=2 drop peer=2"));
  CHECK_THAT(job.err, ContainsSubstring("the connection between rank 1 and rank 2 broke") ||
                          ContainsSubstring("the connection between rank 2 and rank 1 broke"));
}

TEST_CASE("a corrupt payload is caught by its receiver, who names the sender", "[ddp][inject]") {
  const test::TemporaryFolder folder;
  const test::Finished job = train(folder.path(), "rank=2 step=2 corrupt");
  INFO(job.out << job.err);
  CHECK(job.exit_code == 1);
  CHECK_THAT(job.err, ContainsSubstring("injected fault: rank=2 step=2 corrupt"));
  CHECK_THAT(job.err, ContainsSubstring("rank 2 (") && ContainsSubstring("checksum"));
  CHECK(metrics_in(folder.path()).size() == 1);
}

TEST_CASE("a full disk fails the checkpoint that it meets, and leaves none that looks complete", "[ddp][inject]") {
  const test::TemporaryFolder folder;
  const test::Finished job = train(folder.path(), "rank=0 step=3 disk-full");
  INFO(job.out << job.err);
  CHECK(job.exit_code == 1);
  CHECK(rank_says(job, 0, "No space left on device"));
  // Whichever rank ends first: rank 0's own words are in the summary.
  CHECK_THAT(job.err.substr(job.err.find("first failure: ")),
             ContainsSubstring("  | ") && ContainsSubstring("No space left on device"));
  for (const auto& run : fs::directory_iterator(folder.path() / "runs")) {
    CHECK(fs::exists(run.path() / "checkpoints" / "step_00000002"));  // the one before is kept
    CHECK_FALSE(fs::exists(run.path() / "checkpoints" / "step_00000004"));
  }
}

TEST_CASE("NaN in a gradient is found before the average spreads it, with parameter and rank", "[ddp][inject]") {
  const test::TemporaryFolder folder;
  const test::Finished job = train(folder.path(), "rank=1 step=3 nan");
  INFO(job.out << job.err);
  CHECK(job.exit_code == 1);
  CHECK_THAT(job.err, ContainsSubstring("step 3: the gradient is not finite for") && ContainsSubstring(" on rank 1,"));
  CHECK_THAT(job.err, ContainsSubstring("rank 1 (the culprit)"));
}

TEST_CASE("NaN in a gradient: every rank says which checkpoint is the last sound one, and how to go on",
          "[ddp][inject]") {
  const test::TemporaryFolder folder;
  const test::Finished job = train(folder.path(), "rank=1 step=4 nan");
  INFO(job.out << job.err);
  CHECK(job.exit_code == 1);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(rank_says(job, rank, "/checkpoints/step_00000002: lockstep launch --nproc 3 -- "));
    CHECK(rank_says(job, rank, " continues from it"));
  }
}

TEST_CASE("a rank without memory says so, and is the only one to which it happened", "[ddp][inject]") {
  const test::TemporaryFolder folder;
  const test::Finished job = train(folder.path(), "rank=2 step=2 oom");
  INFO(job.out << job.err);
  CHECK(job.exit_code == 1);
  CHECK(rank_says(job, 2, "injected fault: rank=2 step=2 oom"));
  CHECK(rank_says(job, 2, "out of memory on cpu"));
  CHECK_FALSE(rank_says(job, 0, "injected fault"));
}

TEST_CASE("the variable alone does it under any launcher, and wrong faults end the job before it starts",
          "[ddp][inject]") {
  const test::TemporaryFolder folder;
  const test::Finished by_variable = test::run_program(
      training(folder.path(), {}), {{"OMP_NUM_THREADS", "1"}, {"LOCKSTEP_INJECT", "rank=0 step=1 kill"}});
  CHECK(by_variable.exit_code == 128 + 9);
  CHECK_THAT(by_variable.err, ContainsSubstring("first failure: rank 0 was killed by SIGKILL"));
  const test::Finished misspelt = train(folder.path(), "rank=0 step=1 explode");
  CHECK(misspelt.exit_code == 2);
  CHECK_THAT(misspelt.err,
             ContainsSubstring("--inject") && ContainsSubstring("explode") && ContainsSubstring("disk-full"));
  const test::Finished nobody = train(folder.path(), "rank=3 step=1 kill");
  CHECK(nobody.exit_code == 2);
  CHECK_THAT(nobody.err, ContainsSubstring("there is no rank 3"));
}
