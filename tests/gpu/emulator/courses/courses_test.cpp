// Programs as courses write them: silent in checked mode, in three orders of threads, with the right numbers.
#include <string>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace {

lockstep::test::Finished run_programs(const std::string& seed, const std::vector<std::string>& names = {}) {
  std::vector<std::string> command = {lockstep::test::built_program("course_programs")};
  command.insert(command.end(), names.begin(), names.end());
  return lockstep::test::run_program(command, {{"LOCKSTEP_EMULATOR_CHECK", "1"}, {"LOCKSTEP_EMULATOR_SEED", seed}});
}

}  // namespace

TEST_CASE("Programs as courses write them are right, and the checker has nothing to say", "[emulator]") {
  for (const std::string seed : {"0", "1", "7"}) {
    const auto finished = run_programs(seed);
    INFO(seed << "\n" << finished.out << finished.err);
    CHECK(finished.exit_code == 0);
    CHECK(finished.err.empty());
    CHECK_THAT(finished.out, ContainsSubstring(" programs, 0 wrong"));
  }
}

TEST_CASE("A failing assert of a kernel is reported as CUDA reports it", "[emulator]") {
  const auto finished = run_programs("0", {"fails_assertion"});
  INFO(finished.out << finished.err);
  CHECK_THAT(finished.out, ContainsSubstring("1 programs, 0 wrong"));
  CHECK_THAT(finished.err,
             ContainsSubstring("first_kernels.cu:") &&
                 ContainsSubstring("void checks_index(int): block: [0,0,0], thread: [60,0,0] Assertion `"));
}

TEST_CASE("A grid barrier that cannot work ends its kernel with the reason", "[emulator]") {
  const auto some = run_programs("0", {"fails_grid_barrier_of_some_blocks"});
  CHECK_THAT(some.out, ContainsSubstring("1 programs, 0 wrong"));
  CHECK_THAT(some.err, ContainsSubstring("deadlock: 2 blocks wait in grid.sync(), and 1 have ended without it"));
  const auto ordinary = run_programs("0", {"fails_grid_barrier_without_cooperative_launch"});
  CHECK_THAT(ordinary.out, ContainsSubstring("1 programs, 0 wrong"));
  CHECK_THAT(ordinary.err, ContainsSubstring("groups.cu:") && ContainsSubstring("cudaLaunchCooperativeKernel"));
  const auto large = run_programs("0", {"fails_cooperative_launch_too_large"});
  CHECK_THAT(large.out, ContainsSubstring("1 programs, 0 wrong"));
  CHECK_THAT(large.err, ContainsSubstring("a cooperative launch of 4225 blocks; the device holds 4224 at a time"));
}

TEST_CASE("Blocks race between two grid barriers, and not across one", "[emulator]") {
  const auto missing = run_programs("0", {"fails_missing_grid_barrier"});
  INFO(missing.out << missing.err);
  CHECK(missing.exit_code == 86);
  CHECK_THAT(missing.err, ContainsSubstring("race in kernel read_neighbours") && ContainsSubstring("global memory"));
  CHECK(run_programs("0", {"neighbours_with_grid_barriers"}).err.empty());
}
