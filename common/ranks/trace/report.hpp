#pragma once
/// @file
/// HTML for run reports: a timeline of all ranks and line charts, in self-contained pages.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/recorder.hpp"

namespace lockstep::trace {

/// A whole page: style for light and dark screens, scripts, and `body` (HTML, for example from the functions below).
/// Opens from disk without a server.
/// @param title  Plain text.
/// @param body   HTML.
[[nodiscard]] std::string html_page(const std::string& title, const std::string& body);

struct Series {
  std::string name;            ///< For the legend.
  std::vector<double> x = {};  ///< Ascending, as long as y.
  std::vector<double> y = {};  ///< A value that is not finite leaves a gap.
};

/// Input of line_chart().
struct Chart {
  std::string title;                ///< "Loss".
  std::string x_label = {};         ///< "step".
  std::string y_label = {};         ///< "nats per token".
  std::vector<Series> series = {};  ///< Distinguished by colour and dashes; up to six.
  bool starts_at_zero = false;      ///< Begins the y axis at 0; for rates.
};

/// A chart as inline SVG with axes, legend, and values under the pointer. Without data, says so.
/// @throws ContractError  A series with unequal numbers of x and y.
[[nodiscard]] std::string line_chart(const Chart& chart);

/// Name and value pairs, in plain text, as a table. @param caption  Plain text above it; empty: none.
[[nodiscard]] std::string fact_table(std::span<const std::pair<std::string, std::string>> facts,
                                     const std::string& caption = "");

/// The last steps of all ranks, one row per rank and lane. The pointer shows name, time and step, Ctrl and the wheel
/// zoom, dragging moves. Below it a table: milliseconds per step of each kind of work on each rank.
/// @param ranks       Aligned (trace_file.hpp).
/// @param step_count  Number of complete steps to show.
[[nodiscard]] std::string timeline(std::span<const RankTrace> ranks, int step_count = 3);

}  // namespace lockstep::trace
