// --memory-limit in a real training: a job that does not fit ends on all ranks with a message that says why, and one
// that fits says how much it took.
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/json.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

test::Finished limited_job(const fs::path& folder, int world_size, const std::vector<std::string>& more) {
  test::write_words(folder / "text.txt", 4000);
  std::vector<std::string> command{test::built_program("lockstep"),
                                   "launch",
                                   "--nproc",
                                   std::to_string(world_size),
                                   "--",
                                   test::built_program(world_size == 1 ? "train_gpt_single" : "train_gpt_ddp"),
                                   "--data",
                                   (folder / "text.txt").string(),
                                   "--steps",
                                   "2",
                                   "--batch-size",
                                   "12",
                                   "--sample-tokens",
                                   "0",
                                   "--out",
                                   (folder / "runs").string()};
  command.insert(command.end(), more.begin(), more.end());
  return test::run_program(command, {{"OMP_NUM_THREADS", "1"}});
}

}  // namespace

TEST_CASE("a job that needs more than the limit ends soon, and says who asked for how much and what for",
          "[ddp][memory]") {
  const test::TemporaryFolder folder;
  const int world_size = GENERATE(1, 2, 4);
  const auto begin = std::chrono::steady_clock::now();
  // Enough for the weights of tiny (3.2 MiB), not for gradients, moments and activations.
  const test::Finished job = limited_job(folder.path(), world_size, {"--memory-limit", "5MiB"});
  INFO(job.out << job.err);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
  CHECK(job.exit_code == 1);
  CHECK_THAT(job.err, ContainsSubstring("out of memory on cpu (rank ") &&
                          ContainsSubstring(" bytes were asked for (") &&
                          ContainsSubstring(" are in use, and the memory limit allows 5242880; the model"));
}

TEST_CASE("a model that does not fit fails while it is made, and names the parameter", "[ddp][memory]") {
  const test::TemporaryFolder folder;
  const test::Finished job = limited_job(folder.path(), 2, {"--memory-limit", "1.5MiB"});
  INFO(job.out << job.err);
  CHECK(job.exit_code == 1);
  CHECK_THAT(job.err, ContainsSubstring("(initial values of h.") && ContainsSubstring("allows 1572864"));
}

TEST_CASE("a job that fits says what it took, beside its process's size", "[ddp][memory]") {
  const test::TemporaryFolder folder;
  const test::Finished job = limited_job(folder.path(), 2, {"--memory-limit", "100MiB"});
  INFO(job.out << job.err);
  REQUIRE(job.exit_code == 0);
  CHECK_THAT(job.out, ContainsSubstring("  memory      at most ") && ContainsSubstring(" MiB counted on a rank, "));
  const fs::path run = fs::directory_iterator(folder.path() / "runs")->path();
  for (const char* file : {"rank_0.json", "rank_1.json"}) {
    const nlohmann::json summary = parse_json(read_file(run / file));
    const double counted = summary.at("counted_peak_mib"), process = summary.at("process_peak_mib");
    CHECK(counted > 4 * 3.2);  // values, gradients and moments
    CHECK(counted < 100);
    CHECK(process > counted);
    CHECK(summary.at("peak_memory_mib") <= process);
  }
}

TEST_CASE("an emulated device has the limit, not the host", "[ddp][memory][gpu]") {
  const test::TemporaryFolder folder;
  const test::Finished job = limited_job(folder.path(), 2, {"--device", "emulated", "--memory-limit", "2MiB"});
  INFO(job.out << job.err);
  CHECK(job.exit_code == 1);
  CHECK_THAT(job.err, ContainsSubstring("out of memory on emulated") && ContainsSubstring("allows 2097152"));
}

TEST_CASE("a limit that is no number of bytes is refused", "[ddp][memory]") {
  const test::TemporaryFolder folder;
  for (const char* wrong : {"20 MiB", "lots", "0", "-1GiB"}) {
    const test::Finished job = limited_job(folder.path(), 2, {std::string("--memory-limit=") + wrong});
    INFO(wrong << ": " << job.out << job.err);
    CHECK(job.exit_code == 2);
    CHECK_THAT(job.err, ContainsSubstring("is not a number of bytes: write 200MiB, 1.5GiB or 250MB"));
  }
}
