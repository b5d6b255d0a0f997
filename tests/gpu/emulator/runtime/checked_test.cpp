// Reports of checked mode on host code that does not wait: each program in a process of its own.
#include <string>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace {

lockstep::test::Finished run_checked(const std::string& scenario) {
  return lockstep::test::run_program({lockstep::test::built_program("runtime_scenario"), scenario},
                                     {{"LOCKSTEP_EMULATOR_CHECK", "1"}});
}

}  // namespace

TEST_CASE("Checked mode ends a program that reads pinned memory before its copy is done", "[emulator]") {
  const auto wrong = run_checked("read_pinned_too_early");
  CHECK(wrong.exit_code == 86);
  CHECK_THAT(wrong.err, ContainsSubstring("scenario.cpp") && ContainsSubstring("pinned host memory"));
  const auto right = run_checked("read_pinned");
  INFO(right.err);
  CHECK(right.exit_code == 0);
}

TEST_CASE("In checked mode a kernel may use what the copy before it has written, though the host may not yet",
          "[emulator]") {
  const auto finished = run_checked("add_behind_copy");
  INFO(finished.err);
  CHECK(finished.exit_code == 0);
}

TEST_CASE("Checked mode ends a program whose host code reads device memory", "[emulator]") {
  const auto wrong = run_checked("read_device_memory");
  CHECK(wrong.exit_code == 86);
  CHECK_THAT(wrong.err, ContainsSubstring("scenario.cpp"));
}

TEST_CASE("A wait for an event never recorded is no longer the cause once the stream has waited for that event",
          "[emulator]") {
  const auto wrong = run_checked("forget_last_wait");
  CHECK(wrong.exit_code == 86);
  CHECK_THAT(wrong.err, ContainsSubstring("streams without order") && !ContainsSubstring("never recorded"));
}

TEST_CASE("Checked mode reports copies of two streams that nothing orders", "[emulator]") {
  const auto wrong = run_checked("set_without_order");
  CHECK(wrong.exit_code == 86);
  CHECK_THAT(wrong.err, ContainsSubstring("nothing orders") && ContainsSubstring("cudaMemsetAsync"));
  const auto right = run_checked("set_in_order");
  INFO(right.err);
  CHECK(right.exit_code == 0);
}
