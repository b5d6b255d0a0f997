// The chapter's cases: each one's symptom is there in what a run leaves behind, and is not there in train_gpt_ddp's.
// SPOILERS: this file says what is wrong in them.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/affinity.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "checkpoint/checkpoint.hpp"
#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

using Arguments = std::vector<std::string>;

// A run and what it left: output, metrics, files.
struct Trained {
  test::TemporaryFolder place;
  test::Finished finished;
  fs::path folder;
  std::vector<run::StepMetrics> metrics;
};

// Options given twice count as in `more`. world_size 0: without a launcher.
void train(Trained& trained, const std::string& program, int world_size, const Arguments& more) {
  const fs::path text = trained.place / "text.txt", out = trained.place / "runs";
  test::write_words(text, 700);  // about 27 samples: with batches of 8, three a step and three steps an epoch
  Arguments command;
  if (world_size > 0)
    command = {test::built_program("lockstep"), "launch", "--nproc", std::to_string(world_size), "--"};
  const Arguments usual{test::built_program(program),
                        "--data",
                        text.string(),
                        "--batch-size",
                        "8",
                        "--steps",
                        "4",
                        "--save-every",
                        "0",
                        "--validate-every",
                        "0",
                        "--sample-tokens",
                        "0",
                        "--out",
                        out.string()};
  command.insert(command.end(), usual.begin(), usual.end());
  command.insert(command.end(), more.begin(), more.end());
  trained.finished = test::run_program(command, {{"OMP_NUM_THREADS", "1"}, {"LOCKSTEP_PROGRESS", "plain"}});
  for (const auto& entry : fs::directory_iterator(out)) trained.folder = entry.path();
  trained.metrics = run::read_metrics(trained.folder / "metrics.jsonl");
}

std::string output_of(const Trained& trained) { return trained.finished.out + trained.finished.err; }

std::vector<double> losses_of(const Trained& trained) {
  std::vector<double> losses;
  for (const run::StepMetrics& step : trained.metrics) losses.push_back(step.loss);
  return losses;
}

bool has_repeated_sample(const run::StepMetrics& step) {
  const std::set<std::int64_t> different(step.sample_ids.begin(), step.sample_ids.end());
  return different.size() < step.sample_ids.size();
}

// The processors of each rank.
std::vector<std::vector<int>> cpus_of(const Trained& trained) {
  std::vector<std::vector<int>> cpus;
  for (const char* name : {"rank_0.json", "rank_1.json"}) {
    cpus.push_back(parse_json(read_file(trained.folder / name)).at("cpus"));
  }
  return cpus;
}

// The batches of each epoch, in order.
std::map<std::int64_t, std::vector<std::vector<std::int64_t>>> batches_by_epoch(const Trained& trained) {
  std::map<std::int64_t, std::vector<std::vector<std::int64_t>>> epochs;
  for (const run::StepMetrics& step : trained.metrics) epochs[step.epoch].push_back(step.sample_ids);
  return epochs;
}

int lines_beginning_with(const std::string& text, const std::string& begin) {
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line.starts_with(begin) ? 1 : 0;
  return count;
}

std::string answer_of(const Arguments& command) {
  const test::Finished finished = test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  return concat("exit ", finished.exit_code, "\n", finished.out, finished.err);
}

}  // namespace

// With --bind-cores all ranks work on rank 0's processors.
TEST_CASE("case 06.C shows its symptom, and the right program does not", "[ddp][chapter][case]") {
  if (allowed_cpus().size() < 2) test::skip("two ranks cannot have processors of their own on one");
  Trained wrong, right;
  train(wrong, "case_06_c", 2, {"--bind-cores"});
  train(right, "train_gpt_ddp", 2, {"--bind-cores"});
  INFO(output_of(wrong) << output_of(right));
  REQUIRE(wrong.finished.exit_code == 0);
  REQUIRE(right.finished.exit_code == 0);
  const auto of_right = cpus_of(right), of_case = cpus_of(wrong);
  CHECK(of_case[0] == of_case[1]);
  std::vector<int> shared;
  std::ranges::set_intersection(of_right[0], of_right[1], std::back_inserter(shared));
  CHECK(shared.empty());
  CHECK(of_case[0] == of_right[0]);
  CHECK(losses_of(wrong) == losses_of(right));  // nothing else tells
  const std::string report = read_file(wrong.folder / "report.html");
  CHECK_THAT(report, ContainsSubstring(concat("on CPU ", of_case[0].front())));
}

// The loss falls, and the comparison of the replicas ends the run.
TEST_CASE("case 06.D shows its symptom, and the right program does not", "[ddp][chapter][case]") {
  Trained wrong, right;
  train(wrong, "case_06_d", 2, {"--check-replicas", "4", "--steps", "6"});
  train(right, "train_gpt_ddp", 2, {"--check-replicas", "4", "--steps", "6"});
  CHECK(wrong.finished.exit_code != 0);
  CHECK_THAT(output_of(wrong), ContainsSubstring("drifted apart after step 4: parameter wte.weight") &&
                                   ContainsSubstring("rank 1 differs"));
  REQUIRE(wrong.metrics.size() == 4);
  CHECK(wrong.metrics.back().loss < wrong.metrics.front().loss);
  CHECK_FALSE(wrong.metrics.back().exposed_communication.has_value());
  // All ranks start equal: the first loss is the right one, later ones are not.
  CHECK(wrong.metrics[0].loss == right.metrics.at(0).loss);
  CHECK(wrong.metrics[3].loss != right.metrics.at(3).loss);
  INFO(output_of(right));
  CHECK(right.finished.exit_code == 0);
  CHECK(right.metrics.back().exposed_communication.has_value());
}

// Every rank draws the samples that a single process would.
TEST_CASE("case 06.F shows its symptom, and the right program does not", "[ddp][chapter][case]") {
  Trained wrong, right, single;
  train(wrong, "case_06_f", 2, {"--log-batches"});
  train(right, "train_gpt_ddp", 2, {"--log-batches"});
  train(single, "train_gpt_single", 0, {"--log-batches", "--batch-size", "4"});
  REQUIRE(wrong.metrics.size() == 4);
  REQUIRE(right.metrics.size() == 4);
  for (const run::StepMetrics& step : wrong.metrics) {
    REQUIRE(step.sample_ids.size() == 8);
    for (std::size_t i = 0; i < 8; i += 2) CHECK(step.sample_ids[i] == step.sample_ids[i + 1]);
  }
  CHECK(std::ranges::none_of(right.metrics, has_repeated_sample));
  // The mean of two equal gradients is exact, so half the batch on one process is the same training, bit for bit.
  CHECK(losses_of(wrong) == losses_of(single));
  CHECK(losses_of(right) != losses_of(single));
}

// All epochs have the batches of the first one.
TEST_CASE("case 06.B shows its symptom, and the right program does not", "[ddp][chapter][case]") {
  Trained wrong, right;
  train(wrong, "case_06_b", 2, {"--log-batches", "--steps", "7"});
  train(right, "train_gpt_ddp", 2, {"--log-batches", "--steps", "7"});
  auto of_case = batches_by_epoch(wrong), of_right = batches_by_epoch(right);
  REQUIRE(of_case[0].size() == 3);
  CHECK(of_case[1] == of_case[0]);
  CHECK(of_case[2].at(0) == of_case[0][0]);
  CHECK(of_right[0] == of_case[0]);
  CHECK(of_right[1] != of_right[0]);
  CHECK(of_right[2].at(0) != of_right[0][0]);
}

// Every rank prints, and saves a run of its own.
TEST_CASE("case 06.E shows its symptom, and the right program does not", "[ddp][chapter][case]") {
  Trained wrong, right;
  train(wrong, "case_06_e", 3, {"--batch-size", "6"});
  train(right, "train_gpt_ddp", 3, {"--batch-size", "6"});
  for (const std::string rank : {"[rank 1] step", "[rank 2] step"}) {
    CHECK(lines_beginning_with(wrong.finished.out, rank) == 4);
    CHECK(lines_beginning_with(right.finished.out, rank) == 0);
  }
  CHECK(lines_beginning_with(right.finished.out, "[rank 0] step") == 4);
  CHECK(wrong.finished.exit_code == 0);
  CHECK(right.finished.exit_code == 0);
  const auto saved_runs = [](const Trained& trained) {
    int count = 0;
    for (const auto& run : fs::directory_iterator(trained.folder.parent_path())) {
      const auto checkpoints = checkpoint::CheckpointFolder(run::checkpoints_of(run.path())).list();
      CHECK(checkpoints.size() == 1);
      for (const fs::path& path : checkpoints) CHECK_NOTHROW(checkpoint::verify(path));
      ++count;
    }
    return count;
  };
  CHECK(saved_runs(wrong) == 3);
  CHECK(saved_runs(right) == 1);
  CHECK(losses_of(wrong) == losses_of(right));
}

// Nothing but the wrapped model finds its weights in the checkpoint.
TEST_CASE("case 06.A shows its symptom, and the right program does not", "[ddp][chapter][case]") {
  Trained wrong, right;
  train(wrong, "case_06_a", 2, {"--steps", "2"});
  train(right, "train_gpt_ddp", 2, {"--steps", "2"});
  INFO(output_of(wrong));
  REQUIRE(wrong.finished.exit_code == 0);
  CHECK(losses_of(wrong) == losses_of(right));
  const auto generate = [](const Trained& trained) {
    return answer_of({test::built_program("generate"), trained.folder.string(), "--tokens", "3"});
  };
  const auto resume = [](const Trained& trained) {
    return answer_of({test::built_program("train_gpt_single"), "--resume", trained.folder.string(), "--steps", "3"});
  };
  for (const std::string& answer : {generate(wrong), resume(wrong)}) {
    CHECK_THAT(answer, ContainsSubstring("exit 1\n") && ContainsSubstring("52 tensors are missing: wte.weight") &&
                           ContainsSubstring("with \"module.\" before each name") &&
                           ContainsSubstring("unwrapping it from DistributedDataParallel") &&
                           ContainsSubstring("Save what module() returns"));
  }
  CHECK_THAT(generate(right), ContainsSubstring("exit 0\n"));
  CHECK_THAT(resume(right), ContainsSubstring("exit 0\n"));
}
