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
/// @param runs       Run folders with metrics.jsonl and options.json; the legend says batch and learning rate of each,
/// if
///                   the latter can be read. The first one is this run.
/// @param loss_unit  Of the losses; may be empty.
/// @return           HTML. Runs whose steps cannot be read, or that count other things than the first one (tokens,
///                   samples), are left out: the page and a warning say why.
[[nodiscard]] std::string comparison_chart(const std::vector<std::filesystem::path>& runs,
                                           const std::string& loss_unit);

}  // namespace lockstep::run
