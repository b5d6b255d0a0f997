#include "exercise_tool/watched_training.hpp"

#include <filesystem>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

// A run that logs a step each tenth of a second, `steps` times, then does `last`.
exercise::WatchedTraining training_in(const fs::path& folder, int steps, const std::string& last) {
  fs::create_directories(folder / "runs/a");
  const std::string loop =
      "for i in $(seq " + std::to_string(steps) + "); do echo step >>runs/a/metrics.jsonl; sleep 0.1; done; " + last;
  return {.command = {"sh", "-c", loop}, .folder = folder, .runs = folder / "runs", .patience = 2s};
}

}  // namespace

TEST_CASE("a training program that takes no step any more is asked where it is, and ended", "[exercise]") {
  const test::TemporaryFolder folder;
  const std::string hang = "trap 'echo asked >where' USR1; echo $$ >process; while :; do sleep 0.1; done";
  const exercise::TrainingEnd end = exercise::run_watched(training_in(folder.path(), GENERATE(0, 3), hang));
  CHECK(end.has_stood_still);
  CHECK(end.exit_code == 128 + 2);  // SIGINT
  CHECK(read_file(folder / "where") == "asked\n");
  std::string process = read_file(folder / "process");
  process.pop_back();
  CHECK_FALSE(fs::exists("/proc/" + process));
}

TEST_CASE("a training program that goes on is waited for, longer than one step may take", "[exercise]") {
  const test::TemporaryFolder folder;
  const exercise::TrainingEnd end = exercise::run_watched(training_in(folder.path(), 40, "exit 3"));
  CHECK_FALSE(end.has_stood_still);
  CHECK(end.exit_code == 3);
}

TEST_CASE("without a limit a training program may stand still", "[exercise]") {
  const test::TemporaryFolder folder;
  exercise::WatchedTraining training = training_in(folder.path(), 1, "exit 0");
  training.patience.reset();
  const exercise::TrainingEnd end = exercise::run_watched(training);
  CHECK_FALSE(end.has_stood_still);
  CHECK(end.exit_code == 0);
}
