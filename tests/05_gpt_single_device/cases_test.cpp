// The chapter's cases: each one's symptom is there, and is not there in train_gpt_single.
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

std::vector<run::StepMetrics> trained(const std::string& program, const std::string& parts,
                                      const std::string& clip = "1") {
  const test::TemporaryFolder place;
  const fs::path text = place / "text.txt", out = place / "runs";
  test::write_words(text, 4000);
  const test::Finished finished =
      test::run_program({test::built_program(program), "--data", text.string(), "--batch-size", "4",
                         "--accumulation-steps", parts, "--clip", clip, "--steps", "3", "--save-every", "0",
                         "--sample-tokens", "0", "--validate-every", "0", "--out", out.string()},
                        {{"OMP_NUM_THREADS", "1"}});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return run::read_metrics(fs::directory_iterator(out)->path() / "metrics.jsonl");
}

double norm(const run::StepMetrics& step) { return step.gradient_norm.value(); }

}  // namespace

// The gradients of all parts are added up in full.
TEST_CASE("case 05.A shows its symptom, and the right program does not", "[05][case]") {
  const auto wrong = trained("case_05_a", "4"), right = trained("train_gpt_single", "4"),
             whole = trained("case_05_a", "1"), right_whole = trained("train_gpt_single", "1");
  REQUIRE(wrong.size() == 3);
  REQUIRE(right.size() == 3);
  CHECK(wrong[0].loss == right[0].loss);
  CHECK_THAT(norm(wrong[0]), Catch::Matchers::WithinRel(4 * norm(right[0]), 1e-5));
  CHECK_THAT(norm(right[0]), Catch::Matchers::WithinRel(norm(right_whole.at(0)), 1e-5));
  // Clipping hides a factor of 4 until the true gradients are short.
  CHECK_THAT(wrong[2].loss, Catch::Matchers::WithinRel(right[2].loss, 1e-6));
  CHECK_THAT(trained("case_05_a", "4", "8").at(2).loss,
             !Catch::Matchers::WithinRel(trained("train_gpt_single", "4", "8").at(2).loss, 1e-5));
  for (std::size_t step = 0; step < 3; ++step) CHECK(whole.at(step).loss == right_whole.at(step).loss);
}
