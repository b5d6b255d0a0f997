#pragma once
/// @file
/// Loss curves of several runs in one chart.
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::run {

/// Most runs that one chart can tell apart, this one included.
inline constexpr int kMostComparedRuns = 6;

/// A chart of training losses against tokens or samples seen: runs with other batches take other numbers of steps for
/// the same data, so steps would compare what is not comparable. Losses are means over a fiftieth of the run.
/// @param runs       Run folders with metrics.jsonl and options.json; the legend says batch and learning rate of each.
/// @param loss_unit  Of the losses; may be empty.
/// @return           HTML.
/// @throws IoError, FormatError  These files are missing or not what they should be, or one run counts tokens and
///                               another samples.
[[nodiscard]] std::string comparison_chart(const std::vector<std::filesystem::path>& runs,
                                           const std::string& loss_unit);

}  // namespace lockstep::run
