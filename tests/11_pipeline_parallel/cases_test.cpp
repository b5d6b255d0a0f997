// The chapter's cases: each one's symptom is there, and is not there in the right program.
// SPOILERS: this file says what is wrong in them.
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace lockstep {
namespace {

using Catch::Matchers::ContainsSubstring;

test::Finished drawn(const std::string& program, const std::string& stages_per_rank) {
  return test::run_program({test::built_program(program), "--schedule", "interleaved", "--ranks", "2",
                            "--micro-batches", "4", "--stages-per-rank", stages_per_rank, "--no-color"});
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

}  // namespace lockstep
