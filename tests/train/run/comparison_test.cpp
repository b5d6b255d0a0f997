#include "run/comparison.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "run/metrics.hpp"
#include "run/train_options.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

// A run of that many steps whose loss is the number of the step.
fs::path make_run(const fs::path& folder, const run::TrainOptions& options, int steps) {
  fs::create_directories(folder);
  write_file(folder / "options.json", dump_json(to_json(options)));
  std::string lines;
  for (int step = 1; step <= steps; ++step) {
    run::StepMetrics metrics;
    metrics.step = step;
    metrics.loss = step;
    metrics.count = options.batch_size * 10;
    lines += to_line(metrics) + "\n";
  }
  write_file(folder / "metrics.jsonl", lines);
  return folder;
}

}  // namespace

TEST_CASE("curves of runs stand beside each other, named by what differs", "[run]") {
  const test::TemporaryFolder folder;
  run::TrainOptions small, large;
  small.batch_size = 4;
  large.batch_size = 16;
  large.learning_rate.reference_batch_size = 4;
  large.learning_rate.warmup_steps = 7;
  const std::string html = run::comparison_chart(
      {make_run(folder / "small", small, 100), make_run(folder / "large", large, 25)}, "nats per token");
  CHECK_THAT(html, ContainsSubstring("small: batch 4, learning rate 0.002, warm-up 50"));
  CHECK_THAT(html, ContainsSubstring("large: batch 16, learning rate 0.008, warm-up 7"));
  // 100 steps make 50 means of two: (1 + 2) / 2 at 2 * 40 tokens comes first, (99 + 100) / 2 at 4000 tokens last.
  CHECK_THAT(html, ContainsSubstring("1.5") && ContainsSubstring("99.5") && ContainsSubstring("4000"));
}

TEST_CASE("a run that cannot be compared is left out, with the reason in the page", "[run]") {
  const test::TemporaryFolder folder;
  const run::TrainOptions options;
  const fs::path own = make_run(folder / "own", options, 10), other = make_run(folder / "other", options, 10);
  const auto compared = [&] { return run::comparison_chart({own, other}, "nats per token"); };
  SECTION("its options are torn: the curve stays, under the run's name") {
    write_file(other / "options.json", "{\"batch_size\": 4, \"le");
    CHECK_THAT(compared(), ContainsSubstring(">other<"));
  }
  SECTION("its options are none") {
    write_file(other / "options.json", "[]");
    CHECK_THAT(compared(), ContainsSubstring(">other<"));
  }
  SECTION("its losses are lost") {
    write_file(other / "metrics.jsonl", std::string(100, '\0') + "\n{\"step\": 1, \"loss\": NaN}\n");
    CHECK_THAT(compared(), ContainsSubstring("own: batch "));
  }
  SECTION("it has none") {
    fs::remove(other / "metrics.jsonl");
    CHECK_THAT(compared(),
               ContainsSubstring("own: batch ") && ContainsSubstring("not compared with " + other.string()));
  }
  SECTION("it counts something else") {
    std::string lines = read_file(other / "metrics.jsonl");
    for (std::size_t at = 0; (at = lines.find("\"tokens", at)) != std::string::npos;) lines.replace(at, 7, "\"samples");
    write_file(other / "metrics.jsonl", lines);
    CHECK_THAT(compared(), ContainsSubstring("it counts samples and own tokens"));
  }
}
