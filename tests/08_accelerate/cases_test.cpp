// The chapter's cases: each one's symptom is there in what a run prints, and is not there in what train_classifier
// does. SPOILERS: this file says what is wrong in them.
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

// The output of two ranks.
std::string output_of(const std::string& program, const std::vector<std::string>& options) {
  std::vector<std::string> command{test::built_program("lockstep"), "launch", "--nproc", "2", "--",
                                   test::built_program(program)};
  command.insert(command.end(), options.begin(), options.end());
  const test::Finished finished = test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  return finished.out;
}

}  // namespace

// The last batch is filled up with repeated samples, which count.
TEST_CASE("case 08.A shows its symptom, and the right program does not", "[accelerate][program][case]") {
  const test::TemporaryFolder folder;
  const auto evaluate = [&](const std::string& program) {
    return output_of(program, {"--epochs", "1", "--out", (folder / program).string()});
  };
  const std::string wrong = evaluate("case_08_a"), right = evaluate("train_classifier");
  CHECK_THAT(wrong, ContainsSubstring("of 102 samples"));
  CHECK_THAT(right, ContainsSubstring("of 101 samples"));
  CHECK(wrong.substr(0, wrong.find("accuracy")) == right.substr(0, right.find("accuracy")));  // with the same losses
}

// The optimizer steps within the steps' micro-batches: invisible if each step has one.
TEST_CASE("case 08.B shows its symptom, and the right program does not", "[accelerate][program][case]") {
  const test::TemporaryFolder folder;
  const auto train = [&](const std::string& program, const std::string& micro_batches) {
    return output_of(program, {"--epochs", "1", "--accumulation-steps", micro_batches, "--out",
                               (folder / (program + micro_batches)).string()});
  };
  CHECK(train("case_08_b", "1") == train("train_classifier", "1"));
  const std::string wrong = train("case_08_b", "4"), right = train("train_classifier", "4");
  CHECK(wrong != right);
  CHECK_THAT(wrong, ContainsSubstring("updates 25"));  // as in the right program: what the schedule counts
  CHECK_THAT(right, ContainsSubstring("updates 25"));
}

// A run that is continued makes all epochs once more.
TEST_CASE("case 08.C shows its symptom, and the right program does not", "[accelerate][program][case]") {
  const test::TemporaryFolder folder;
  const auto continued = [&](const std::string& program) {
    const std::string out = (folder / program).string();
    (void)output_of(program, {"--epochs", "2", "--out", out});
    return output_of(program, {"--epochs", "3", "--resume", "--out", out});
  };
  const std::string wrong = continued("case_08_c"), right = continued("train_classifier");
  CHECK_THAT(wrong, ContainsSubstring("epoch 1  updates 75"));
  CHECK_THAT(wrong, ContainsSubstring("epoch 3  updates 125"));
  CHECK_THAT(right, !ContainsSubstring("epoch 1") && ContainsSubstring("epoch 3  updates 75"));
}
