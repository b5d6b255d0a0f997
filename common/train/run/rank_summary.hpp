#pragma once
/// @file
/// The cost of one rank's part of a run, for the report's comparison of ranks.
#include <filesystem>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "run/metrics.hpp"

namespace lockstep::run {

/// Means over the steps of one process; if there are ten or more, the first tenth is left out.
struct RankSummary {
  using Milliseconds = StepMetrics::Milliseconds;

  int rank = 0;
  Milliseconds duration{};               ///< Of a step.
  Milliseconds data_wait{};              ///< Part of the step spent waiting for its batch.
  Milliseconds exposed_communication{};  ///< Part of the step spent waiting for other ranks.
  double peak_memory_mib = 0;            ///< As peak_memory_mib() of the training device.
  double counted_peak_mib = 0;           ///< As counted_peak_mib(); 0: not known.
  double process_peak_mib = 0;           ///< As process_peak_mib(); 0: not known.
  std::vector<int> cpus = {};            ///< Processors it may run on, ascending.
};

/// In MiB. On the CPU: the peak resident size of this process. On another device: this process's peak memory in use
/// there, without cached blocks. @source  getrusage(2), ru_maxrss.
[[nodiscard]] double peak_memory_mib(Device device = {});

/// In MiB: the most memory that --memory-limit counts, since the process began: tensors on the device and, on the CPU,
/// memory of process groups.
[[nodiscard]] double counted_peak_mib(Device device = {});

/// In MiB: the peak resident size of this process, with the program, its libraries, and pages that it shares with other
/// ranks. @source  getrusage(2), ru_maxrss.
[[nodiscard]] double process_peak_mib();

/// @param history  Steps of this process, in order, as StepHistory::steps(); may be empty.
[[nodiscard]] RankSummary summarize(int rank, std::span<const StepMetrics> history);

/// Writes "rank_3.json" into the run folder. @throws IoError
void write_summary(const std::filesystem::path& run_folder, const RankSummary& summary);

/// All ranks' summaries in order of rank. @throws IoError, FormatError
[[nodiscard]] std::vector<RankSummary> read_summaries(const std::filesystem::path& run_folder, int world_size);

/// The rank with the longest steps, not counting the time it waits for others.
/// @pre  `summaries` is not empty.
[[nodiscard]] int slowest_rank(std::span<const RankSummary> summaries);

}  // namespace lockstep::run
