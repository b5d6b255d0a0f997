#include "run/comparison.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/plain_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "run/metrics.hpp"
#include "run/option_list.hpp"
#include "run/readable.hpp"
#include "trace/report.hpp"

namespace lockstep::run {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kWindows = 50;

// "2026-11-21-tiny-2: batch 32, learning rate 0.8, warm-up 8"; the name alone if its options cannot be read.
std::string legend_of(const fs::path& run) {
  RunOptions options;
  try {
    read_json(
        parse_json(read_file(run / "options.json")),
        join({learning_rate_options(options.learning_rate), {{.field = &options.batch_size, .name = "--batch-size"}}}));
  } catch (const std::exception& error) {
    Logger().warning(concat("comparing ", run.string(), " without its options: options.json: ", error.what()));
    return run.filename().string();
  }
  const double rate = options.learning_rate.highest * options.learning_rate_scale();
  return concat(run.filename().string(), ": batch ", options.batch_size, ", learning rate ", shortest(rate),
                ", warm-up ", options.learning_rate.warmup_steps);
}

struct Curve {
  trace::Series series;
  std::optional<Unit> unit;  // of x; a run without steps has none
};

// Means over windows of a fiftieth of the run; each is plotted at the end of its window.
Curve curve_of(const fs::path& run) {
  const std::vector<StepMetrics> steps = read_metrics(run / "metrics.jsonl");
  const std::size_t window = std::max<std::size_t>(steps.size() / kWindows, 1);
  trace::Series curve{.name = legend_of(run), .x = {}, .y = {}};
  std::int64_t seen = 0;
  double sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    seen += steps[i].count;
    sum += steps[i].loss;
    if ((i + 1) % window != 0) continue;
    curve.x.push_back(static_cast<double>(seen));
    curve.y.push_back(sum / static_cast<double>(window));
    sum = 0;
  }
  return {curve, steps.empty() ? std::nullopt : std::optional(steps.front().unit)};
}

}  // namespace

std::string comparison_chart(const std::vector<fs::path>& runs, const std::string& loss_unit) {
  std::optional<Unit> unit;
  std::string left_out;
  trace::Chart chart{.title = "Training loss of several runs", .x_label = "", .y_label = loss_unit, .series = {}};
  for (const fs::path& run : runs) {
    try {
      Curve curve = curve_of(fs::weakly_canonical(run));
      if (!unit) unit = curve.unit;
      if (curve.unit && curve.unit != unit) {
        throw FormatError(
            concat("it counts ", name_of(*curve.unit), " and ", runs.front().filename().string(), " ", name_of(*unit)));
      }
      chart.series.push_back(std::move(curve.series));
    } catch (const std::exception& error) {  // a failed comparison must not lose this run's report
      const std::string message = concat("not compared with ", run.string(), ": ", error.what());
      Logger().warning(message);
      left_out += "<p>" + escape_html(printable(message)) + "</p>\n";
    }
  }
  chart.x_label = concat(name_of(unit.value_or(Unit::kTokens)), " seen");
  return trace::line_chart(chart) + left_out;
}

}  // namespace lockstep::run
