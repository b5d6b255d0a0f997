#include "run/rank_summary.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/affinity.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "device/memory_limit.hpp"
#include "device/storage.hpp"
#include "run/run_folder.hpp"

namespace lockstep::run {
namespace {

std::filesystem::path summary_path(const std::filesystem::path& run_folder, int rank) {
  return run_folder / concat("rank_", rank, ".json");
}

}  // namespace

double peak_memory_mib(Device device) {
  if (!device.is_cpu()) return static_cast<double>(allocator_statistics(device).peak_bytes_in_use) / (1 << 20);
  return process_peak_mib();
}

double counted_peak_mib(Device device) { return static_cast<double>(counted_memory(device).peak) / (1 << 20); }

double process_peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;  // Linux counts in KiB
}

RankSummary summarize(int rank, std::span<const StepMetrics> history) {
  RankSummary summary{.rank = rank, .cpus = allowed_cpus()};
  if (history.empty()) return summary;
  const std::vector<double>& peaks = history.back().peak_memory_mib;
  if (static_cast<std::size_t>(rank) < peaks.size()) summary.peak_memory_mib = peaks[static_cast<std::size_t>(rank)];
  const std::span<const StepMetrics> steady = history.subspan(history.size() / 10);
  for (const StepMetrics& step : steady) {
    summary.duration += step.duration;
    summary.data_wait += step.data_wait;
    summary.exposed_communication += step.exposed_communication.value_or(StepMetrics::Milliseconds(0));
  }
  const auto count = static_cast<double>(steady.size());
  summary.duration /= count;
  summary.data_wait /= count;
  summary.exposed_communication /= count;
  return summary;
}

void write_summary(const std::filesystem::path& run_folder, const RankSummary& summary) {
  const nlohmann::ordered_json json{{"rank", summary.rank},
                                    {"step_ms", summary.duration.count()},
                                    {"data_wait_ms", summary.data_wait.count()},
                                    {"exposed_communication_ms", summary.exposed_communication.count()},
                                    {"peak_memory_mib", summary.peak_memory_mib},
                                    {"counted_peak_mib", summary.counted_peak_mib},
                                    {"process_peak_mib", summary.process_peak_mib},
                                    {"cpus", summary.cpus}};
  replace_file(summary_path(run_folder, summary.rank), dump_json(json, 2) + "\n");
}

std::vector<RankSummary> read_summaries(const std::filesystem::path& run_folder, int world_size) {
  using Milliseconds = RankSummary::Milliseconds;
  std::vector<RankSummary> summaries;
  for (int rank = 0; rank < world_size; ++rank) {
    const std::filesystem::path path = summary_path(run_folder, rank);
    try {
      const nlohmann::json json = parse_json(read_file(path));
      summaries.push_back({.rank = json.at("rank"),
                           .duration = Milliseconds(json.at("step_ms").get<double>()),
                           .data_wait = Milliseconds(json.at("data_wait_ms").get<double>()),
                           .exposed_communication = Milliseconds(json.at("exposed_communication_ms").get<double>()),
                           .peak_memory_mib = json.at("peak_memory_mib"),
                           .counted_peak_mib = json.value("counted_peak_mib", 0.0),  // older runs have neither
                           .process_peak_mib = json.value("process_peak_mib", 0.0),
                           .cpus = json.at("cpus").get<std::vector<int>>()});
    } catch (const std::exception& error) {  // a file that another program has overwritten, or a failing disk
      Logger().warning(concat("the report leaves out rank ", rank, ": ", path.string(), ": ", error.what()));
    }
  }
  return summaries;
}

int slowest_rank(std::span<const RankSummary> summaries) {
  const auto own_time = [](const RankSummary& summary) { return summary.duration - summary.exposed_communication; };
  return std::max_element(summaries.begin(), summaries.end(),
                          [&](const RankSummary& a, const RankSummary& b) { return own_time(a) < own_time(b); })
      ->rank;
}

}  // namespace lockstep::run
