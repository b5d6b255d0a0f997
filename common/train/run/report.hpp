#pragma once
/// @file
/// The report page of a run: curves, costs, timeline and text, in one self-contained file.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "run/description.hpp"
#include "run/metrics.hpp"

namespace lockstep::run {

/// HTML made from the run folder's metrics.jsonl, rank_<k>.json and trace_rank<k>.json; leaves out files that are
/// missing or cannot be read.
/// @param compared  Run folders whose losses are drawn too; may be empty.
/// @param kept      Steps in memory, in order: used if metrics.jsonl lacks them, because the disk was full for example.
[[nodiscard]] std::string report_page(const std::filesystem::path& run_folder, const Facts& description,
                                      const Outcome& outcome, const std::vector<std::filesystem::path>& compared = {},
                                      std::span<const StepMetrics> kept = {});

}  // namespace lockstep::run
