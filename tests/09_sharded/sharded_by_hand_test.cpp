// The rungs before the library.
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

std::vector<double> losses_of_mlp(const std::string& program, int world_size) {
  const test::TemporaryFolder folder;
  const auto finished =
      test::run_program({test::built_program("lockstep"), "launch", "--nproc", std::to_string(world_size), "--",
                         test::built_program(program), "--steps", "6", "--out", folder.path().string()});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  std::vector<double> losses;
  const auto run = run::latest_run(folder.path(), "mlp").value();
  for (const run::StepMetrics& step : run::read_metrics(run / "metrics.jsonl")) losses.push_back(step.loss);
  return losses;
}

}  // namespace

TEST_CASE("train_mlp_sharded trains what train_mlp_ring trains", "[sharded][pair][multirank]") {
  // Two ranks add a + b, in whatever order. More ranks add in an order that depends on where in a buffer an element
  // lies: as for train_mlp_ring beside train_mlp_single.
  CHECK(losses_of_mlp("train_mlp_sharded", 2) == losses_of_mlp("train_mlp_ring", 2));
  const auto expected = losses_of_mlp("train_mlp_ring", 4), found = losses_of_mlp("train_mlp_sharded", 4);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-5);
}

TEST_CASE("zero_steps ends with all values updated on all ranks, and moments of one part on each", "[sharded]") {
  for (const int world_size : {1, 3, 8}) {
    const auto finished =
        test::run_program({test::built_program("zero_steps"), "--world-size", std::to_string(world_size)});
    CHECK(finished.exit_code == 0);
    std::string updated;
    for (int part = 0; part < world_size; ++part) updated += "1 ";
    const std::string last = finished.out.substr(finished.out.find("4. all-gather"));
    for (int rank = 0; rank < world_size; ++rank)
      CHECK_THAT(last, ContainsSubstring("   " + updated + "   of part " + std::to_string(rank) + ": 1"));
  }
  const auto four = test::run_program({test::built_program("zero_steps")});
  CHECK_THAT(four.out, ContainsSubstring("rank 2  .... .... 0123 ....    0 0 1 0    of part 2: 1"));
}

TEST_CASE("zero_table gives every parameter to one rank", "[sharded]") {
  for (const char* const world_size : {"1", "3", "8"}) {
    const auto finished = test::run_program({test::built_program("zero_table"), "--world-size", world_size});
    CHECK(finished.exit_code == 0);
    const std::size_t begin = finished.out.find("\nof ");
    REQUIRE(begin != std::string::npos);
    std::istringstream last(finished.out.substr(begin + 4));  // "3600 parameters each rank owns 1200 1200 1200"
    std::int64_t all = 0, owned = 0;
    std::string word;
    last >> all >> word >> word >> word >> word;
    for (std::int64_t one = 0; last >> one;) owned += one;
    CHECK(all > 0);
    CHECK(owned == all);
  }
}
