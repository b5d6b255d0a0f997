#pragma once
/// @file
/// The page that a run leaves: curves, costs, timeline and text, in one file that needs nothing else.
#include <filesystem>
#include <string>
#include <vector>

#include "run/description.hpp"

namespace lockstep::run {

/// HTML made from the run folder's metrics.jsonl, rank_<k>.json and trace_rank<k>.json; what is missing or cannot be
/// read is left out.
/// @param compared  Run folders whose losses are drawn beside this one's; may be empty.
[[nodiscard]] std::string report_page(const std::filesystem::path& run_folder, const Facts& description,
                                      const Outcome& outcome, const std::vector<std::filesystem::path>& compared = {});

}  // namespace lockstep::run
