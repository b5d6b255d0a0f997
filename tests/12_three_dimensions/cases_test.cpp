// The chapter's cases: each one's symptom is there, and is not there in the right program.
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

std::vector<run::StepMetrics> trained(const std::string& program, int world_size) {
  const test::TemporaryFolder place;
  const fs::path text = place / "text.txt", out = place / "runs";
  test::write_words(text, 4000);
  std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc",
                                   std::to_string(world_size),      "--",     test::built_program(program)};
  const std::vector<std::string> options{
      "--data",          text.string(), "--batch-size", "4",          "--save-every",     "0", "--steps", "3",
      "--sample-tokens", "0",           "--out",        out.string(), "--validate-every", "0"};
  command.insert(command.end(), options.begin(), options.end());
  const test::Finished finished = test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return run::read_metrics(fs::directory_iterator(out)->path() / "metrics.jsonl");
}

}  // namespace

// The seed of a rank's sampler has the rank in it, and nothing compares the ranks' batches. The text's bytes are below
// 128, so of two ranks only the first looks up tokens, and the other one's samples do not matter.
TEST_CASE("case 12.A shows its symptom, and the right program does not", "[grid][case][multirank]") {
  const auto wrong = trained("case_12_a", 4), right = trained("train_gpt_tensor_parallel", 4),
             two = trained("case_12_a", 2), right_two = trained("train_gpt_tensor_parallel", 2),
             alone = trained("case_12_a", 1);
  REQUIRE(wrong.size() == 3);
  REQUIRE(right.size() == 3);
  CHECK_THAT(right[2].loss, Catch::Matchers::WithinRel(alone.at(2).loss, 1e-6));
  for (std::size_t step = 0; step < 3; ++step) {
    CHECK(two.at(step).loss == right_two.at(step).loss);
    CHECK_THAT(wrong[step].loss, !Catch::Matchers::WithinRel(right[step].loss, 1e-5));
  }
}
