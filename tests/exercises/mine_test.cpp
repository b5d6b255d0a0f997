// `./lockstep run 06 --mine`: files of exercises do parts of a training run.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "run/metrics.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

test::Finished train(const fs::path& folder, const std::string& mine) {
  std::ofstream text(folder / "text.txt");
  for (int i = 0; i < 4000; ++i) text << i * i % 9973 << (i % 7 == 0 ? '\n' : ' ');
  text.close();
  return test::run_program({test::built_program("lockstep"),
                            "launch",
                            "--no-prefix",
                            "--nproc",
                            "3",
                            "--",
                            std::string(LOCKSTEP_EXERCISE_PROGRAMS) + "/train_gpt_solutions",
                            "--data",
                            (folder / "text.txt").string(),
                            "--steps",
                            "4",
                            "--batch-size",
                            "6",
                            "--validate-every",
                            "0",
                            "--save-every",
                            "0",
                            "--sample-tokens",
                            "0",
                            "--out",
                            (folder / "runs").string()},
                           {{"OMP_NUM_THREADS", "1"}, {"LOCKSTEP_MINE", mine}});
}

std::vector<run::StepMetrics> metrics_in(const fs::path& folder) {
  for (const fs::directory_entry& run : fs::directory_iterator(folder / "runs"))
    return run::read_metrics(run.path() / "metrics.jsonl");
  return {};
}

}  // namespace

TEST_CASE("the trainer gives the same losses with the solutions of exercises in its parts", "[exercises][mine]") {
  const test::TemporaryFolder ours, theirs;
  const test::Finished without = train(ours.path(), "");
  INFO(without.err);
  REQUIRE(without.exit_code == 0);
  CHECK_THAT(without.out, ContainsSubstring("ring       ours"));
  const std::string gradients = GENERATE("06.3=5555", "06.4=6666", "06.4=6666 06.5=7777");
  const test::Finished with = train(theirs.path(), "02.1=1111 02.2=2222 05.1=3333 06.1=4444 " + gradients);
  INFO(with.err);
  REQUIRE(with.exit_code == 0);
  CHECK_THAT(with.out, ContainsSubstring("ring       yours (02.1 1111, 02.2 2222)"));
  CHECK_THAT(with.out, ContainsSubstring("times as long"));
  const auto expected = metrics_in(ours.path()), got = metrics_in(theirs.path());
  REQUIRE(expected.size() == 4);
  REQUIRE(got.size() == 4);
  // Four updates of a loss of about 5: additions in another order, in float32.
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i].loss - expected[i].loss) < 1e-5);
  CHECK(expected[3].loss < expected[0].loss);
}

TEST_CASE("a part that the trainer does not have is refused", "[exercises][mine]") {
  const test::TemporaryFolder folder;
  const test::Finished finished = train(folder.path(), "00.1=1111");
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.err, ContainsSubstring("LOCKSTEP_MINE: \"00.1=1111\""));
}

}  // namespace lockstep::exercise
