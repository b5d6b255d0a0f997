// The trainers as processes on a device, against the same training on the CPU.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "run/metrics.hpp"
#include "run/run_folder.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

std::string device_option() { return test::accelerator().type == DeviceType::kCuda ? "cuda" : "emulated"; }

struct Training {
  test::Finished finished;
  std::vector<double> losses;
  fs::path folder;
};

/// @param world_size  0: train_gpt_single.
/// @param program     With ranks.
/// @param devices     How many are emulated; fewer than ranks are shared.
Training train(const fs::path& folder, int world_size, const std::vector<std::string>& more,
               const std::string& program = "train_gpt_ddp", int devices = 1) {
  if (!fs::exists(folder / "text.txt")) {
    std::string text;
    for (int i = 0; i < 60; ++i)
      text += "She sells sea shells by the sea shore, number " + std::to_string(i % 7) + ".\n";
    write_file(folder / "text.txt", text);
  }
  const fs::path out = folder / ("runs" + std::to_string(std::distance(fs::directory_iterator(folder), {})));
  std::vector<std::string> command;
  if (world_size == 0) {
    command = {test::built_program("train_gpt_single")};
  } else {
    command = {test::built_program("lockstep"), "launch", "--nproc", std::to_string(world_size),
               test::built_program(program)};
  }
  const std::vector<std::string> usual{"--data",
                                       (folder / "text.txt").string(),
                                       "--batch-size",
                                       "2",
                                       "--steps",
                                       "3",
                                       "--dropout",
                                       "0.1",
                                       "--sample-tokens",
                                       "0",
                                       "--out",
                                       out.string(),
                                       "--validate-every",
                                       "0",
                                       "--share-gpu"};
  command.insert(command.end(), usual.begin(), usual.end());
  command.insert(command.end(), more.begin(), more.end());
  Training training{
      test::run_program(command, {{"OMP_NUM_THREADS", "1"}, {"LOCKSTEP_EMULATOR_DEVICES", std::to_string(devices)}}),
      {},
      {}};
  INFO(training.finished.err);
  REQUIRE(training.finished.exit_code == 0);
  training.folder = run::latest_run(out).value();
  for (const run::StepMetrics& step : run::read_metrics(training.folder / "metrics.jsonl"))
    training.losses.push_back(step.loss);
  REQUIRE(training.losses.size() == 3);
  return training;
}

// Losses near ln 256 = 5.5 agree to some 100 roundoffs in the first step. Later Adam turns the sign of a gradient that
// is nothing but rounding into a step of at most the learning rate (2e-3 / 50 a step of the warm-up), which the loss,
// flat there, hardly sees: 1e-4 leaves room, and another seed is off by a thousand times that.
constexpr double kTolerance = 1e-4;

void check_equal(const Training& a, const Training& b) {
  for (std::size_t step = 0; step < a.losses.size(); ++step)
    CHECK(std::abs(a.losses[step] - b.losses[step]) < kTolerance);
}

}  // namespace

TEST_CASE("train_gpt_single trains on a device as on the CPU, and goes on elsewhere", "[integration][05][gpu]") {
  const test::TemporaryFolder folder;
  const Training here = train(folder.path(), 0, {});
  const Training there = train(folder.path(), 0, {"--device", device_option()});
  check_equal(here, there);
  const test::Finished resumed = test::run_program(
      {test::built_program("train_gpt_single"), "--resume", there.folder.string(), "--steps", "4", "--device", "cpu"},
      {{"OMP_NUM_THREADS", "1"}});
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
}

TEST_CASE("train_gpt_ddp trains on devices as on the CPU", "[integration][06][gpu]") {
  const test::TemporaryFolder folder;
  const Training here = train(folder.path(), 2, {});
  check_equal(here, train(folder.path(), 2, {"--device", device_option()}));
  const Training compressed = train(folder.path(), 2, {"--compress-gradients", "bf16"});
  check_equal(compressed, train(folder.path(), 2, {"--device", device_option(), "--compress-gradients", "bf16"}));
}

TEST_CASE("eight processes with a device each train what one process trains on the CPU", "[integration][06][gpu]") {
  constexpr int kDevices = 8;
  if (test::accelerator().type == DeviceType::kCuda && Device::count(DeviceType::kCuda) < kDevices)
    test::skip("fewer than 8 devices");
  const test::TemporaryFolder folder;
  const std::vector<std::string> samples{"--batch-size", "8"};
  const Training expected = train(folder.path(), 0, samples);
  check_equal(expected,
              train(folder.path(), kDevices, {"--batch-size", "8", "--backend", "nccl", "--device", device_option()},
                    "train_gpt_ddp", kDevices));
}

TEST_CASE("train_gpt_sharded trains on devices what train_gpt_ddp trains, in each stage", "[integration][09][gpu]") {
  const test::TemporaryFolder folder;
  const Training expected = train(folder.path(), 2, {"--device", device_option()});
  for (const char* const stage : {"1", "2", "3"}) {
    INFO("stage " << stage);
    check_equal(expected, train(folder.path(), 2, {"--device", device_option(), "--zero", stage}, "train_gpt_sharded"));
  }
}

TEST_CASE("train_gpt_tensor_parallel trains on devices what train_gpt_single trains on the CPU",
          "[integration][10][gpu]") {
  const test::TemporaryFolder folder;
  const Training expected = train(folder.path(), 0, {});
  check_equal(expected, train(folder.path(), 2, {"--device", device_option()}, "train_gpt_tensor_parallel"));
  check_equal(expected, train(folder.path(), 2, {"--device", device_option(), "--sequence-parallel"},
                              "train_gpt_tensor_parallel"));
}

TEST_CASE("train_gpt_pipeline trains on devices what train_gpt_single trains on the CPU", "[integration][11][gpu]") {
  const test::TemporaryFolder folder;
  const std::vector<std::string> halves{"--accumulation-steps", "2"};
  const Training expected = train(folder.path(), 0, halves);
  for (const char* const schedule : {"gpipe", "1f1b"}) {
    INFO(schedule);
    check_equal(expected,
                train(folder.path(), 2,
                      {"--accumulation-steps", "2", "--pipeline-schedule", schedule, "--device", device_option()},
                      "train_gpt_pipeline"));
  }
}

TEST_CASE("train_gpt_3d trains on devices what train_gpt_single trains on the CPU", "[integration][12][gpu]") {
  const test::TemporaryFolder folder;
  const Training expected = train(folder.path(), 0, {"--accumulation-steps", "2"});
  check_equal(expected, train(folder.path(), 4,
                              {"--accumulation-steps", "2", "--tensor", "2", "--pipeline", "2", "--sequence-parallel",
                               "--device", device_option()},
                              "train_gpt_3d"));
  check_equal(expected, train(folder.path(), 4, {"--pipeline", "2", "--device", device_option()}, "train_gpt_3d"));
}

TEST_CASE("a trainer asked for a device that is not in its build ends as skipped, in one line", "[integration][05]") {
  const std::string other = accelerator_type() == DeviceType::kCuda ? "emulated" : "cuda";
  const test::Finished finished = test::run_program({test::built_program("train_gpt_single"), "--device", other}, {});
  CHECK(finished.exit_code == test::kSkipped);
  CHECK_THAT(finished.err, ContainsSubstring("LOCKSTEP_PRESET="));
  CHECK(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
}
