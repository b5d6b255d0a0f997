// The estimate of nn::training_memory() for each stage, against the counted peaks of real training processes.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "nn/training_memory.hpp"
#include "run/rank_summary.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

constexpr int kMemoryRanks = 2;
constexpr double kBytesPerMib = 1 << 20;

struct StageCase {
  int stage;  // 0: DDP
  const char* program;
};
const std::vector<StageCase> kStageCases{
    {0, "train_gpt_ddp"}, {1, "train_gpt_sharded"}, {2, "train_gpt_sharded"}, {3, "train_gpt_sharded"}};

// The largest counted peak of a rank, in MiB.
double measured_mib(const StageCase& what, const std::string& model) {
  const test::TemporaryFolder folder;
  test::write_words(folder / "text.txt", 8000);
  std::vector<std::string> command{test::built_program("lockstep"),
                                   "launch",
                                   "--nproc",
                                   std::to_string(kMemoryRanks),
                                   "--",
                                   test::built_program(what.program),
                                   "--model",
                                   model,
                                   "--data",
                                   (folder / "text.txt").string(),
                                   "--steps",
                                   "3",
                                   "--batch-size",
                                   std::to_string(2 * kMemoryRanks),
                                   "--validate-every",
                                   "0",
                                   "--save-every",
                                   "0",
                                   "--sample-tokens",
                                   "0",
                                   "--out",
                                   (folder / "runs").string()};
  if (what.stage > 0) command.insert(command.end(), {"--zero", std::to_string(what.stage)});
  const test::Finished job = test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
  INFO(job.out << job.err);
  REQUIRE(job.exit_code == 0);
  const fs::path run = fs::directory_iterator(folder / "runs")->path();
  double largest = 0;
  for (const run::RankSummary& rank : run::read_summaries(run, kMemoryRanks))
    largest = std::max(largest, rank.counted_peak_mib);
  return largest;
}

}  // namespace

TEST_CASE("the estimate of a rank's memory is what training takes", "[sharded][memory][multirank]") {
  const std::string model = GENERATE("tiny", "small");
  for (const StageCase& what : kStageCases) {
    const nn::TrainingPlan plan{
        .config = nn::GptConfig::named(model), .batch_size = 2, .ranks = kMemoryRanks, .stage = what.stage};
    const double estimated = nn::training_memory(plan).total() / kBytesPerMib, measured = measured_mib(what, model);
    INFO(model << ", stage " << what.stage << ": measured " << measured << " MiB, estimated " << estimated);
    CHECK(measured <= 1.05 * estimated);
    CHECK(measured >= 0.95 * estimated);
  }
}
