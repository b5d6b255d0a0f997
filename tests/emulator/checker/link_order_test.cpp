#include "support/catch.hpp"
#include "support/subprocess.hpp"

using lockstep::test::Finished;
using lockstep::test::Subprocess;

namespace {

// Both programs, from the folder of this test's own.
std::vector<std::string> programs() { return {LOCKSTEP_LINKED_FIRST, LOCKSTEP_LINKED_LAST}; }

}  // namespace

TEST_CASE("Instrumented host code works, wherever the emulator stands in the link", "[emulator]") {
  for (const std::string& program : programs()) {
    for (const char* const check : {"0", "1"}) {
      INFO(program << " with LOCKSTEP_EMULATOR_CHECK=" << check);
      const Finished finished = Subprocess({program}, {{"LOCKSTEP_EMULATOR_CHECK", check}}).wait();
      CHECK(finished.exit_code == 0);
      CHECK(finished.err.empty());
      CHECK(finished.out == "400 sorted\n");
    }
  }
}

TEST_CASE("A program with findings reports them, sums them up and ends with status 86", "[emulator]") {
  for (const std::string& program : programs()) {
    const Finished finished = Subprocess({program, "wrong"}, {{"LOCKSTEP_EMULATOR_CHECK", "1"}}).wait();
    CHECK(finished.exit_code == 86);
    CHECK_THAT(finished.err, ContainsSubstring("emulated CUDA: race in kernel shift: read at linked_program.cpp:"));
    CHECK_THAT(finished.err, ContainsSubstring("emulated CUDA: 1 finding in this run:\n"));
    const Finished tolerated =
        Subprocess({program, "wrong"}, {{"LOCKSTEP_EMULATOR_CHECK", "1"}, {"LOCKSTEP_EMULATOR_EXIT", "0"}}).wait();
    CHECK(tolerated.exit_code == 0);
  }
}

TEST_CASE("The emulator's library answers the hooks and calls none", "[emulator]") {
  // A call of an exported function goes through a relocation that names it.
  const Finished finished = Subprocess({"readelf", "--relocs", "--wide", LOCKSTEP_EMULATOR_LIBRARY}).wait();
  REQUIRE(finished.exit_code == 0);
  REQUIRE_THAT(finished.out, ContainsSubstring("R_"));
  CHECK_THAT(finished.out, !ContainsSubstring("__tsan_"));
  const Finished names = Subprocess({"nm", "--dynamic", "--defined-only", LOCKSTEP_EMULATOR_LIBRARY}).wait();
  for (const char* const hook : {" T __tsan_read4", " T __tsan_write16", " T __tsan_atomic32_fetch_add",
                                 " T __tsan_read_range", " T __ubsan_handle_out_of_bounds"}) {
    CHECK_THAT(names.out, ContainsSubstring(hook));
  }
}
