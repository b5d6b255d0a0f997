#pragma once
/// @file
/// HTML for run reports: a timeline of all ranks and line charts, in pages that need nothing but themselves.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/recorder.hpp"

namespace lockstep::trace {

/// A whole page: style for light and dark screens, scripts, and `body` (HTML, for example from the functions below).
/// Opens from disk; asks no server for anything.
/// @param title  Plain text.
/// @param body   HTML.
[[nodiscard]] std::string html_page(const std::string& title, const std::string& body);

/// One line of a chart.
struct Series {
  std::string name;            ///< In the legend.
  std::vector<double> x = {};  ///< Ascending, as long as y.
  std::vector<double> y = {};  ///< Values that are not finite leave a gap.
};

/// What line_chart() draws.
struct Chart {
  std::string title;                ///< "Loss".
  std::string x_label = {};         ///< "step".
  std::string y_label = {};         ///< "nats per token".
  std::vector<Series> series = {};  ///< Told apart by colour and dashes; up to six.
  bool starts_at_zero = false;      ///< The y axis begins at 0: for rates.
};

/// A chart as inline SVG with axes, legend, and values under the pointer. An empty chart says so.
/// @param chart  What to draw.
/// @throws ContractError  A series with unequal numbers of x and y.
[[nodiscard]] std::string line_chart(const Chart& chart);

/// Name and value pairs as a table.
/// @param facts  Plain text.
[[nodiscard]] std::string fact_table(std::span<const std::pair<std::string, std::string>> facts);

/// The last steps of all ranks, one row per rank and lane; the pointer shows name, time and step, Ctrl and the
/// wheel zoom, dragging moves. Below it a table: milliseconds per step of each kind of work on each rank.
/// @param ranks       Aligned (trace_file.hpp).
/// @param step_count  How many of the last complete steps are shown.
[[nodiscard]] std::string timeline(std::span<const RankTrace> ranks, int step_count = 3);

}  // namespace lockstep::trace
