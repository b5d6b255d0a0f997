#pragma once
/// @file
/// What one rank's part of a run cost, for the report's comparison of ranks.
#include <filesystem>
#include <span>
#include <vector>

#include "run/metrics.hpp"

namespace lockstep::run {

/// Means over the steps of one process; the first tenth of the steps is left out where there are ten or more.
struct RankSummary {
  using Milliseconds = StepMetrics::Milliseconds;  ///< With fractions.

  int rank = 0;                          ///< Whose times these are.
  Milliseconds duration{};               ///< Of the step.
  Milliseconds data_wait{};              ///< In which the step waited for its batch.
  Milliseconds exposed_communication{};  ///< In which it waited for other ranks.
  double peak_memory_mib = 0;            ///< Largest resident size of the process so far.
  std::vector<int> cpus = {};            ///< Processors it may run on, ascending.
};

/// Largest resident size of this process so far, in MiB. @source  getrusage(2), ru_maxrss.
[[nodiscard]] double peak_memory_mib();

/// @param history  Steps of this process, in order; may be empty.
[[nodiscard]] RankSummary summarize(int rank, std::span<const StepMetrics> history);

/// "rank_3.json" in the run folder. @throws IoError
void write_summary(const std::filesystem::path& run_folder, const RankSummary& summary);

/// All ranks' summaries in order of rank. @throws IoError, FormatError
[[nodiscard]] std::vector<RankSummary> read_summaries(const std::filesystem::path& run_folder, int world_size);

/// The rank whose steps take longest apart from waiting for others.
/// @pre  `summaries` is not empty.
[[nodiscard]] int slowest_rank(std::span<const RankSummary> summaries);

}  // namespace lockstep::run
