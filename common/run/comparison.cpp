#include "run/comparison.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "run/metrics.hpp"
#include "run/readable.hpp"
#include "run/train_options.hpp"
#include "trace/report.hpp"

namespace lockstep::run {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kWindows = 50;

// "2026-11-21-tiny-2: batch 32, learning rate 0.8, warm-up 8"
std::string name_of(const fs::path& run) {
  const TrainOptions options = options_from_json(parse_json(read_file(run / "options.json")));
  const double rate = options.learning_rate.highest * options.learning_rate_scale();
  return concat(run.filename().string(), ": batch ", options.batch_size, ", learning rate ", shortest(rate),
                ", warm-up ", options.learning_rate.warmup_steps);
}

// Means over as many steps as make a fiftieth of the run; each stands at the tokens seen by its last step.
trace::Series curve_of(const fs::path& run) {
  const std::vector<StepMetrics> steps = read_metrics(run / "metrics.jsonl");
  const std::size_t window = std::max<std::size_t>(steps.size() / kWindows, 1);
  trace::Series curve{.name = name_of(run), .x = {}, .y = {}};
  std::int64_t tokens = 0;
  double sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    tokens += steps[i].tokens;
    sum += steps[i].loss;
    if ((i + 1) % window != 0) continue;
    curve.x.push_back(static_cast<double>(tokens));
    curve.y.push_back(sum / static_cast<double>(window));
    sum = 0;
  }
  return curve;
}

}  // namespace

std::string comparison_chart(const std::vector<fs::path>& runs) {
  trace::Chart chart{
      .title = "Training loss of several runs", .x_label = "tokens seen", .y_label = "nats per token", .series = {}};
  for (const fs::path& run : runs) chart.series.push_back(curve_of(fs::weakly_canonical(run)));
  return trace::line_chart(chart);
}

}  // namespace lockstep::run
