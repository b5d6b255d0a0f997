// The chapter's cases: each one's symptom is there, and is not there in train_gpt_sharded.
// SPOILERS: this file says what is wrong in them.
#include <filesystem>
#include <string>
#include <vector>

#include "run/metrics.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

struct TrainedCase {
  test::TemporaryFolder place;
  test::Finished finished;
  std::vector<run::StepMetrics> metrics;
};

void train(TrainedCase& trained, const std::string& program, int world_size, const std::vector<std::string>& more) {
  const fs::path text = trained.place / "text.txt", out = trained.place / "runs";
  test::write_words(text, 4000);
  std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc",
                                   std::to_string(world_size),      "--",     test::built_program(program)};
  const std::vector<std::string> usual{"--data",           text.string(), "--batch-size",    "8",
                                       "--save-every",     "0",           "--sample-tokens", "0",
                                       "--validate-every", "0",           "--out",           out.string()};
  command.insert(command.end(), usual.begin(), usual.end());
  command.insert(command.end(), more.begin(), more.end());
  trained.finished = test::run_program(command, {{"OMP_NUM_THREADS", "1"}, {"LOCKSTEP_PROGRESS", "plain"}});
  trained.metrics = run::read_metrics(fs::directory_iterator(out)->path() / "metrics.jsonl");
}

}  // namespace

// Each rank goes on with old values of the other's part, until the copies are compared.
TEST_CASE("case 09.A shows its symptom, and the right program does not", "[sharded][case][multirank]") {
  TrainedCase wrong, right;
  const std::vector<std::string> options{"--check-replicas", "4", "--steps", "6"};
  train(wrong, "case_09_a", 2, options);
  train(right, "train_gpt_sharded", 2, options);
  INFO(wrong.finished.err << right.finished.err);
  CHECK(wrong.finished.exit_code != 0);
  CHECK_THAT(wrong.finished.err, ContainsSubstring("drifted apart after step 4"));
  CHECK(right.finished.exit_code == 0);
  REQUIRE(wrong.metrics.size() == 4);
  CHECK(wrong.metrics[0].loss == right.metrics.at(0).loss);
  CHECK(wrong.metrics[3].loss != right.metrics.at(3).loss);
  CHECK(wrong.metrics[3].loss < wrong.metrics[0].loss);
}

// Each rank clips by the norm of its own part.
TEST_CASE("case 09.B shows its symptom, and the right program does not", "[sharded][case][multirank]") {
  TrainedCase wrong, right, unclipped, unclipped_right;
  const std::vector<std::string> options{"--clip", "0.2", "--steps", "3"}, off{"--clip", "0", "--steps", "3"};
  train(wrong, "case_09_b", 4, options);
  train(right, "train_gpt_sharded", 4, options);
  train(unclipped, "case_09_b", 4, off);
  train(unclipped_right, "train_gpt_sharded", 4, off);
  INFO(wrong.finished.err << right.finished.err);
  REQUIRE(wrong.metrics.size() == 3);
  REQUIRE(right.metrics.size() == 3);
  CHECK(wrong.metrics[0].loss == right.metrics[0].loss);
  CHECK(wrong.metrics[2].loss != right.metrics[2].loss);
  CHECK(wrong.metrics[0].gradient_norm.value() < 0.9 * right.metrics[0].gradient_norm.value());
  for (std::size_t step = 0; step < 3; ++step)
    CHECK(unclipped.metrics.at(step).loss == unclipped_right.metrics.at(step).loss);
}
