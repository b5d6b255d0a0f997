#include "run/metrics.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/file.hpp"
#include "run/run_folder.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::run;
using Milliseconds = StepMetrics::Milliseconds;

namespace {

StepMetrics example(std::int64_t step) {
  StepMetrics metrics;
  metrics.step = step;
  metrics.epoch = 2;
  metrics.loss = static_cast<double>(0.1F) / 3;  // no short decimal
  metrics.learning_rate = 1e-3 / 7;
  metrics.gradient_norm = 0.3;
  metrics.count = 3072;
  metrics.duration = Milliseconds(64);
  return metrics;
}

}  // namespace

TEST_CASE("a step's numbers survive the file bit for bit", "[run]") {
  StepMetrics metrics = example(17);
  metrics.validation_loss = 2.0 / 3;
  metrics.exposed_communication = Milliseconds(0.125);
  metrics.data_wait = Milliseconds(0.1 / 3);
  metrics.forward = Milliseconds(20.1);
  metrics.backward = Milliseconds(30.2);
  metrics.update = Milliseconds(4.3);
  metrics.slowest_rank = 2;
  metrics.peak_memory_mib = {70.25, 71.5, 69};
  metrics.sample_ids = {4, 1, 9};
  const StepMetrics read = parse_metrics_line(to_line(metrics));
  CHECK(read.step == 17);
  CHECK(read.epoch == 2);
  CHECK(read.loss == metrics.loss);
  CHECK(read.learning_rate == metrics.learning_rate);
  CHECK(read.validation_loss == metrics.validation_loss);
  CHECK(read.exposed_communication == metrics.exposed_communication);
  CHECK(read.gradient_norm == metrics.gradient_norm);
  CHECK(read.data_wait == metrics.data_wait);
  CHECK(read.forward == metrics.forward);
  CHECK(read.backward == metrics.backward);
  CHECK(read.update == metrics.update);
  CHECK(read.slowest_rank == 2);
  CHECK(read.peak_memory_mib == metrics.peak_memory_mib);
  CHECK(read.sample_ids == metrics.sample_ids);
  CHECK(read.count_per_s() == 48'000);
  CHECK(to_line(metrics).find('\n') == std::string::npos);
}

TEST_CASE("what was not measured is not in the line", "[run]") {
  const std::string line = to_line(example(1));
  CHECK(line.find("validation_loss") == std::string::npos);
  CHECK(line.find("exposed") == std::string::npos);
  CHECK_FALSE(parse_metrics_line(line).validation_loss.has_value());
}

TEST_CASE("a resumed run drops the steps after its checkpoint", "[run]") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  {
    MetricsFile file(path, 0);
    for (std::int64_t step = 1; step <= 7; ++step) file.write(example(step));
  }
  {
    MetricsFile file(path, 5);
    file.write(example(6));
  }
  const std::vector<StepMetrics> all = read_metrics(path);
  REQUIRE(all.size() == 6);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].step == static_cast<std::int64_t>(i) + 1);
}

TEST_CASE("a line cut off by a kill is ignored, a wrong one is named and left out", "[run]") {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  write_file(path, to_line(example(1)) + "\n" + to_line(example(2)).substr(0, 20));
  CHECK(read_metrics(path).size() == 1);
  write_file(path, to_line(example(1)) + "\n{}\n" + to_line(example(3)) + "\n");
  const test::CapturedStderr err;
  CHECK(read_metrics(path).size() == 2);
  CHECK_THAT(err.text(),
             ContainsSubstring("metrics.jsonl: 1 of 3 lines cannot be read") && ContainsSubstring("line 2:"));
}

TEST_CASE("numbers that are not finite are null in the file, and NaN for who reads it", "[run]") {
  StepMetrics metrics = example(1);
  metrics.validation_loss = std::numeric_limits<double>::quiet_NaN();
  metrics.loss = std::numeric_limits<double>::infinity();
  metrics.scores["accuracy"] = metrics.loss;
  metrics.gradient_norm = metrics.loss;
  metrics.peak_memory_mib = {1, metrics.loss};
  const StepMetrics read = parse_metrics_line(to_line(metrics));
  CHECK(std::isnan(read.loss));
  REQUIRE(read.validation_loss.has_value());
  CHECK(std::isnan(*read.validation_loss));
  CHECK(std::isnan(read.scores.at("accuracy")));
  CHECK(std::isnan(*read.gradient_norm));
  CHECK(std::isnan(read.peak_memory_mib.at(1)));
  CHECK(to_line(read) == to_line(metrics));
}

TEST_CASE("of steps that a resumed run has repeated, the later lines count", "[run]") {
  const test::TemporaryFolder folder;
  std::string lines;
  for (const std::int64_t step : {1, 2, 3, 2, 3, 4}) lines += to_line(example(step)) + "\n";
  write_file(folder / "metrics.jsonl", lines);
  std::vector<std::int64_t> steps;
  for (const StepMetrics& step : read_metrics(folder / "metrics.jsonl")) steps.push_back(step.step);
  CHECK(steps == std::vector<std::int64_t>{1, 2, 3, 4});
}
