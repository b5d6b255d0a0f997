// Behaviour that depends on the environment, or ends the process: each in a process of its own.
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace {

using lockstep::test::Finished;
using Variables = std::vector<std::pair<std::string, std::string>>;

Finished run(const std::string& scenario, const Variables& variables = {}) {
  return lockstep::test::run_program({lockstep::test::built_program("runtime_scenario"), scenario}, variables);
}

// With these seeds the suite says that it finds a missing wait.
const std::vector<std::string> kSeeds{"1", "2", "3", "4"};

int failures(const std::string& scenario) {
  int failed = 0;
  for (const std::string& seed : kSeeds) {
    const Finished finished = run(scenario, {{"LOCKSTEP_EMULATOR_DELAYS", seed}});
    INFO(finished.err);
    REQUIRE((finished.exit_code == 0 || finished.exit_code == 1));
    failed += finished.exit_code;
  }
  return failed;
}

}  // namespace

TEST_CASE("Delays show a forgotten cudaStreamWaitEvent and never a right program", "[emulator]") {
  CHECK(failures("forgotten_wait_event") > 0);
  CHECK(failures("wait_event") == 0);
}

TEST_CASE("Delays show a result that is read before the stream is synchronized", "[emulator]") {
  CHECK(failures("read_pinned_too_early") > 0);
  CHECK(failures("read_pinned") == 0);
}

TEST_CASE("CUDA_VISIBLE_DEVICES chooses and orders the devices of the machine", "[emulator]") {
  const auto devices = [](const std::string& visible) {
    return run("print_devices", {{"LOCKSTEP_EMULATOR_DEVICES", "4"}, {"CUDA_VISIBLE_DEVICES", visible}}).out;
  };
  CHECK(devices("2,0") == "cudaSuccess 2 0000:02:00.0 0000:00:00.0\n");
  CHECK(devices("1,7,0") == "cudaSuccess 1 0000:01:00.0\n");
  CHECK(devices("1,x") == "cudaSuccess 1 0000:01:00.0\n");
  CHECK(devices("-1") == "cudaErrorNoDevice 0\n");
  CHECK(devices("1,1") == "cudaErrorNoDevice 0\n");
  // Set and empty means none; the test's own way of passing variables removes those.
  const std::string program = lockstep::test::built_program("runtime_scenario");
  CHECK(lockstep::test::run_program({"env", "CUDA_VISIBLE_DEVICES=", program, "print_devices"}).out ==
        "cudaErrorNoDevice 0\n");
  CHECK(run("print_devices", {{"LOCKSTEP_EMULATOR_DEVICES", "0"}}).out == "cudaErrorNoDevice 0\n");
}

TEST_CASE("LOCKSTEP_EMULATOR_MEMORY caps a device", "[emulator]") {
  CHECK(run("use_all_memory", {{"LOCKSTEP_EMULATOR_MEMORY", "1500000"}}).exit_code == 0);
}

TEST_CASE("A seed that is no number is reported, and does not end the program", "[emulator]") {
  for (const char* const variable : {"LOCKSTEP_EMULATOR_SEED", "LOCKSTEP_EMULATOR_DELAYS"}) {
    const Finished finished = run("wait_event", {{variable, "x"}});
    INFO(finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.err, ContainsSubstring(std::string(variable) + "=x is not an integer"));
  }
}

TEST_CASE("A forked child is told that it cannot use the device", "[emulator]") {
  CHECK(run("use_after_fork").exit_code == 0);
}

TEST_CASE("A process ends whatever its streams still have to do", "[emulator]") {
  CHECK(run("exit_with_work_pending").exit_code == 0);
  CHECK(run("exit_in_host_function").exit_code == 0);
}
