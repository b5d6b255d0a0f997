// The output of the chapter's small programs.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace lockstep {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string output_of(const std::string& program, std::vector<std::string> options) {
  options.insert(options.begin(), test::built_program(program));
  const test::Finished finished = test::run_program(options);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return finished.out;
}

}  // namespace

TEST_CASE("schedules draws 3 ranks and 3 micro-batches as on paper", "[pipeline_parallel]") {
  const std::string out =
      output_of("schedules", {"--ranks", "3", "--micro-batches", "3", "--schedule", "1f1b", "--no-color"});
  CHECK_THAT(out, ContainsSubstring("1f1b: 15 units\n"
                                    "  rank 0  abc....AA.BB.CC\n"));
}

TEST_CASE("schedules fits a terminal with 4 ranks and 8 micro-batches", "[pipeline_parallel]") {
  std::istringstream out(output_of("schedules", {"--ranks", "4", "--micro-batches", "8", "--no-color"}));
  for (std::string line; std::getline(out, line);) CHECK(line.size() <= 80);
}

TEST_CASE("schedules counts what its formulas say", "[pipeline_parallel]") {
  const std::string out = output_of("schedules", {"--schedule", "naive,gpipe,1f1b,interleaved", "--ranks", "4",
                                                  "--micro-batches", "8", "--no-color"});
  CHECK_THAT(out, ContainsSubstring("idle/busy 3.000; p-1 is 3.000") &&
                      ContainsSubstring("idle/busy 0.375; (p-1)/m is 0.375") &&
                      ContainsSubstring("idle/busy 0.188; (p-1)/(v m) is 0.188"));
}

TEST_CASE("two_stages has the uncut model's gradients, and rank 0 holds two micro-batches", "[pipeline_parallel]") {
  const std::string out = output_of("two_stages", {"--micro-batches", "5"});
  CHECK_THAT(out, ContainsSubstring("micro-batches: 5") && ContainsSubstring("holding 2 at most"));
}

}  // namespace lockstep
