// Memory that is taken, touched and given back in each step costs a page fault for each 4 KiB, which no profile of the
// kernels shows: packed operands (kernels/cpu/packing_room.hpp), and whatever comes to be allocated like them.
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace {

// In a process of its own: earlier tests would leave memory that hides faults, or a heap that causes some. At a hundred
// faults, a step of the smallest model (50 ms) spends less than half a percent of its time on them.
void check_faults(const std::string& model, const std::string& precision, const std::string& threads) {
  INFO(model << ", " << precision << ", threads: " << threads);
  const lockstep::test::Finished finished = lockstep::test::run_program(
      {lockstep::test::built_program("page_fault_counter"), model, precision}, {{"OMP_NUM_THREADS", threads}});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  std::istringstream lines(finished.out);
  std::string what;
  int count = 0, kinds = 0;
  for (; lines >> what >> count; ++kinds) {
    INFO(what);
    CHECK(count < 100);
  }
  CHECK(kinds == 4);
}

}  // namespace

TEST_CASE("steady steps take no new pages: tiny", "[05]") {
  for (const char* threads : {"1", "2"}) {
    check_faults("tiny", "fp32", threads);
    check_faults("tiny", "bf16", threads);
  }
}

TEST_CASE("steady steps take no new pages: small", "[05]") {
  check_faults("small", "fp32", "1");
  check_faults("small", "bf16", "1");
}

TEST_CASE("steady steps take no new pages: small, two threads", "[05]") { check_faults("small", "fp32", "2"); }
