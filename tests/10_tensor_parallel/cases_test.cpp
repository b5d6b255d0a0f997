// The chapter's cases: each one's symptom is there, and is not there in train_gpt_tensor_parallel.
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

std::vector<run::StepMetrics> trained(const std::string& program, int world_size,
                                      const std::vector<std::string>& more = {}) {
  const test::TemporaryFolder place;
  const fs::path text = place / "text.txt", out = place / "runs";
  test::write_words(text, 4000);
  std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc",
                                   std::to_string(world_size),      "--",     test::built_program(program)};
  const std::vector<std::string> usual{
      "--data",          text.string(), "--batch-size", "4",          "--save-every",     "0", "--steps", "3",
      "--sample-tokens", "0",           "--out",        out.string(), "--validate-every", "0"};
  command.insert(command.end(), usual.begin(), usual.end());
  command.insert(command.end(), more.begin(), more.end());
  const test::Finished finished = test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return run::read_metrics(fs::directory_iterator(out)->path() / "metrics.jsonl");
}

}  // namespace

// Every rank adds the biases of its layers that are cut by rows. They begin with 0.
TEST_CASE("case 10.A shows its symptom, and the right program does not", "[tensor_parallel][case][multirank]") {
  const auto wrong = trained("case_10_a", 2), right = trained("train_gpt_tensor_parallel", 2),
             alone = trained("case_10_a", 1), right_alone = trained("train_gpt_tensor_parallel", 1);
  REQUIRE(wrong.size() == 3);
  REQUIRE(right.size() == 3);
  CHECK(wrong[0].loss == right[0].loss);
  CHECK_THAT(wrong[0].gradient_norm.value(), Catch::Matchers::WithinRel(right[0].gradient_norm.value(), 1e-6));
  CHECK_THAT(right[2].loss, Catch::Matchers::WithinRel(right_alone.at(2).loss, 1e-6));
  CHECK_THAT(wrong[2].loss, !Catch::Matchers::WithinRel(right[2].loss, 1e-5));
  for (std::size_t step = 0; step < 3; ++step) CHECK(alone.at(step).loss == right_alone.at(step).loss);
}

// The gradients of norms are not summed, and each rank has norms of its own.
TEST_CASE("case 10.B shows its symptom, and the right program does not", "[tensor_parallel][case][multirank]") {
  const std::vector<std::string> divided{"--sequence-parallel"};
  const auto wrong = trained("case_10_b", 2, divided), right = trained("train_gpt_tensor_parallel", 2, divided),
             whole = trained("case_10_b", 2), right_whole = trained("train_gpt_tensor_parallel", 2);
  REQUIRE(wrong.size() == 3);
  REQUIRE(right.size() == 3);
  CHECK(wrong[0].loss == right[0].loss);
  CHECK_THAT(wrong[0].gradient_norm.value(), !Catch::Matchers::WithinRel(right[0].gradient_norm.value(), 1e-5));
  CHECK_THAT(wrong[2].loss, !Catch::Matchers::WithinRel(right[2].loss, 1e-6));
  for (std::size_t step = 0; step < 3; ++step) CHECK(whole.at(step).loss == right_whole.at(step).loss);
}
