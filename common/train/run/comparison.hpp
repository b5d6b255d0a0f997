#pragma once
/// @file
/// Loss curves of several runs in one chart.
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::run {

/// Most runs that one chart can distinguish, this one included.
inline constexpr int kMostComparedRuns = 6;

/// A chart of training losses against tokens or samples seen, not steps: runs with different batch sizes take different
/// numbers of steps for the same data. Losses are means over a fiftieth of the run.
/// @param runs       Run folders with metrics.jsonl; the first one is this run. The legend gives the batch and learning
///                   rate of each, if its options.json can be read.
/// @param loss_unit  May be empty.
/// @return           HTML. Leaves out runs whose steps cannot be read, or whose unit (tokens, samples) differs from the
///                   first one's: the page and a warning say why.
[[nodiscard]] std::string comparison_chart(const std::vector<std::filesystem::path>& runs,
                                           const std::string& loss_unit);

}  // namespace lockstep::run
