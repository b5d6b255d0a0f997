// The chapter's cases: each one's symptom is there, and is not there in the right program.
// SPOILERS: this file says what is wrong in them.
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/training_job.hpp"

namespace lockstep {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

test::Finished drawn(const std::string& program, const std::string& stages_per_rank) {
  return test::run_program({test::built_program(program), "--schedule", "interleaved", "--ranks", "2",
                            "--micro-batches", "4", "--stages-per-rank", stages_per_rank, "--no-color"});
}

std::vector<run::StepMetrics> trained(const std::string& program, int ranks, const std::string& schedule) {
  const test::TrainingJob job;
  test::require_success(job.train(test::built_program(program), ranks,
                                  {"--steps", "6", "--accumulation-steps", "2", "--pipeline-schedule", schedule}));
  return job.metrics();
}

}  // namespace

// Backward passes take a rank's stages in the order of the forward passes.
TEST_CASE("case 11.A shows its symptom, and the right program does not", "[pipeline_parallel][case]") {
  const test::Finished wrong = drawn("case_11_a", "2"), right = drawn("schedules", "2");
  CHECK(wrong.exit_code == 1);
  CHECK_THAT(wrong.err, ContainsSubstring("the schedule stops: stage 0 waits for B0 of stage 1, which waits for B0 of "
                                          "stage 2, which comes after B0 of stage 0, which waits for B0 of stage 1"));
  CHECK(right.exit_code == 0);
  CHECK(drawn("case_11_a", "1").out == drawn("schedules", "1").out);
}

// The head's gradient is added to a leaf of its own. The other gradients are right, so every schedule shows the same.
TEST_CASE("case 11.B shows its symptom, and the right program does not", "[pipeline_parallel][case][multirank]") {
  const auto wrong = trained("case_11_b", 2, "1f1b"), right = trained("train_gpt_pipeline", 2, "1f1b"),
             alone = trained("case_11_b", 1, "1f1b"), all_forward = trained("case_11_b", 2, "gpipe");
  REQUIRE(wrong.size() == 6);
  REQUIRE(right.size() == 6);
  CHECK(wrong[0].loss == right[0].loss);
  CHECK_THAT(wrong[0].gradient_norm.value(), !WithinRel(right[0].gradient_norm.value(), 1e-3));
  CHECK(wrong[5].loss < wrong[0].loss);
  CHECK(wrong[5].loss > right[5].loss);
  for (std::size_t step = 0; step < 6; ++step) {
    CHECK_THAT(alone.at(step).loss, WithinRel(right[step].loss, 1e-6));
    CHECK(all_forward.at(step).loss == wrong[step].loss);
  }
}

}  // namespace lockstep
