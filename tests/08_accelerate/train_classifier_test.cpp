// The chapter's program for a model of one's own, as processes.
#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

// world_size 0: without a launcher. Its standard output without the ranks' prefixes.
std::string output_of(int world_size, const std::vector<std::string>& options) {
  std::vector<std::string> command{test::built_program("train_classifier")};
  if (world_size > 0) {
    command = {test::built_program("lockstep"), "launch", "--nproc",
               std::to_string(world_size),      "--",     test::built_program("train_classifier")};
  }
  command.insert(command.end(), options.begin(), options.end());
  const test::Finished finished = test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  std::string out = finished.out;
  const std::string prefix = "[rank 0] ";
  for (auto place = out.find(prefix); place != std::string::npos; place = out.find(prefix))
    out.erase(place, prefix.size());
  return out;
}

// The accuracy in the last line.
double accuracy_in(const std::string& out) {
  const auto place = out.rfind("accuracy ");
  return place == std::string::npos ? -1 : std::stod(out.substr(place + std::string("accuracy ").size()));
}

}  // namespace

TEST_CASE("the classifier learns, and any number of ranks counts each sample once", "[accelerate][program]") {
  const test::TemporaryFolder folder;
  const std::string alone = output_of(0, {"--out", (folder / "alone").string()});
  CHECK(accuracy_in(alone) > 0.8);  // guessing among five classes: 0.2
  const int world_size = GENERATE(1, 3);
  const std::string ranks = output_of(world_size, {"--out", (folder / "ranks").string()});
  // Of 101 samples a few near a border may change sides with the order of float32 sums.
  CHECK(std::abs(accuracy_in(ranks) - accuracy_in(alone)) < 0.05);
  if (world_size == 1) CHECK(ranks == alone);
}

TEST_CASE("the classifier continues from its newest checkpoint", "[accelerate][program][checkpoint]") {
  const test::TemporaryFolder folder;
  const std::string whole = output_of(2, {"--out", (folder / "whole").string()});
  (void)output_of(2, {"--out", (folder / "parts").string(), "--epochs", "2"});
  const std::string rest = output_of(2, {"--out", (folder / "parts").string(), "--resume"});
  CHECK_THAT(rest, ContainsSubstring("continues step_00000001"));
  CHECK(rest.substr(rest.find("epoch 3")) == whole.substr(whole.find("epoch 3")));
}

TEST_CASE("the precision that a launcher chooses reaches the classifier", "[accelerate][program]") {
  const test::TemporaryFolder folder;
  const auto losses_in = [&](const std::string& precision) {
    const test::Finished finished = test::run_program(
        {test::built_program("lockstep"), "launch", "--num-processes", "1", "--mixed-precision", precision, "--",
         test::built_program("train_classifier"), "--epochs", "1", "--out", (folder / precision).string()},
        {{"OMP_NUM_THREADS", "1"}});
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
    return finished.out;
  };
  const std::string full = losses_in("no"), half = losses_in("bf16");
  CHECK(full != half);
  CHECK(std::abs(accuracy_in(full) - accuracy_in(half)) < 0.05);  // a few samples near a border may change sides
}
