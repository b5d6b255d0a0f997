#pragma once
/// @file
/// What one rank's part of a run cost, for the report's comparison of ranks.
#include <filesystem>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "run/metrics.hpp"

namespace lockstep::run {

/// Means over the steps of one process; the first tenth of the steps is left out where there are ten or more.
struct RankSummary {
  using Milliseconds = StepMetrics::Milliseconds;  ///< With fractions.

  int rank = 0;                          ///< Whose times these are.
  Milliseconds duration{};               ///< Of the step.
  Milliseconds data_wait{};              ///< In which the step waited for its batch.
  Milliseconds exposed_communication{};  ///< In which it waited for other ranks.
  double peak_memory_mib = 0;            ///< As peak_memory_mib() of the device that trains.
  std::vector<int> cpus = {};            ///< Processors it may run on, ascending.
};

/// In MiB. On the CPU: the largest resident size of this process so far. On another device: the most memory of it that
/// this process has had in use, without what its allocator keeps for later. @source  getrusage(2), ru_maxrss.
[[nodiscard]] double peak_memory_mib(Device device = {});

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
