// The programs of the chapter that compute on a device.
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"
#include "support/pair_checks.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;

namespace {

std::string device_kind() { return test::accelerator().type == DeviceType::kCuda ? "cuda" : "emulated"; }

std::vector<double> losses_below(const std::filesystem::path& out) {
  std::vector<double> losses;
  for (const auto& step : run::read_metrics(run::latest_run(out, "mlp").value() / "metrics.jsonl"))
    losses.push_back(step.loss);
  return losses;
}

}  // namespace

TEST_CASE("train_mlp_nccl trains what train_mlp_single trains", "[nccl][chapter][multirank]") {
  // As for train_mlp_ring, from which it differs in the group alone.
  test::check_pair("train_mlp_single", "train_mlp_nccl", 1e-5, test::LossesIn::kRunFolder);
}

TEST_CASE("the perceptron learns on a device what it learns on the CPU, with one rank and with several",
          "[nccl][chapter][multirank]") {
  const test::TemporaryFolder folder;
  const std::string reference = (folder / "reference").string();
  REQUIRE(test::run_on_ranks(1, "train_mlp_single", {"--steps", "5", "--out", reference})[0].exit_code == 0);
  const std::vector<double> expected = losses_below(reference);
  REQUIRE(expected.size() == 5);
  const std::vector<std::string> on_device{"--steps", "5", "--device", device_kind()};
  const auto check = [&](int world_size, const std::string& program, std::vector<std::string> arguments) {
    if (world_size > 1) arguments.emplace_back("--share-gpu");
    const std::string out = (folder / concat(program, "_", world_size)).string();
    arguments.insert(arguments.end(), {"--out", out});
    const test::Finished finished = test::run_on_ranks(world_size, program, arguments)[0];
    INFO(program << " on " << world_size << ": " << finished.out << finished.err);
    REQUIRE(finished.exit_code == 0);
    const std::vector<double> losses = losses_below(out);
    REQUIRE(losses.size() == expected.size());
    // The kernels add in another order than the CPU does: as between numbers of ranks, 3e-6 for each of two layers.
    for (std::size_t i = 0; i < losses.size(); ++i) CHECK(std::abs(losses[i] - expected[i]) <= 1e-5 * expected[0]);
  };
  check(1, "train_mlp_single", on_device);
  check(2, "train_mlp_ring", on_device);
  check(2, "train_mlp_nccl", on_device);
  check(4, "train_mlp_nccl", on_device);
}

TEST_CASE("nccl_all_reduce adds up the memory of all devices", "[nccl][chapter][multirank]") {
  const std::string device = device_kind();
  for (const int world_size : {1, 3, 8}) {
    const auto ranks = test::run_on_ranks(world_size, "nccl_all_reduce", {"--count", "1001", "--share-gpu"});
    const int sum = world_size * (world_size + 1) / 2;
    const std::string expected = concat("-> [", sum, ", ", 2 * sum, ", ", 3 * sum, ", ...]\n");
    for (const test::Finished& rank : ranks) {
      INFO(rank.err);
      CHECK_THAT(rank.out, ContainsSubstring(device + ":0: [") && ContainsSubstring(expected));
    }
  }
}
