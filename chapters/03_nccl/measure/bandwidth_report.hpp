#pragma once
/// @file
/// What bus_bandwidth has found out, as tables for people and as JSON.
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "03_nccl/measure/exact_inputs.hpp"

namespace lockstep::bandwidth {

/// One measurement, its result checked.
struct Measurement {
  std::string contender{};                                     ///< One of contender_names().
  comm::Collective collective = comm::Collective::kAllReduce;  ///< What was run.
  std::int64_t bytes = 0;                                      ///< Of the whole buffer.
  double seconds = 0;  ///< Median over repetitions of the slowest rank's time; 0: no time is claimed.
  double fastest = 0;  ///< The shortest of those times: on a busy machine the one least disturbed.
};

/// All of a run.
struct Report {
  int world_size = 1;                             ///< Ranks.
  DType dtype = DType::kFloat32;                  ///< Of the elements.
  comm::ReduceOp op = comm::ReduceOp::kSum;       ///< Of reductions.
  std::vector<Measurement> measurements{};        ///< In the order in which they were taken.
  std::map<std::string, std::string> left_out{};  ///< Contender -> why.
};

/// Adds what another job has measured.
/// @param report  Is added to. @param other  What is added.
void merge(Report& report, const Report& other);

/// A table per collective: time, algorithm bandwidth and bus bandwidth, a column for each contender; then who is left
/// out, and why.
[[nodiscard]] std::string tables(const Report& report);

/// For the program that merges the reports of its jobs.
[[nodiscard]] nlohmann::json to_json(const Report& report);
/// @throws FormatError  `text` is no such report.
[[nodiscard]] Report report_from_json(const std::string& text);

/// A file as docs/measurements/ has them: date, machine, command, and a row for each measurement that has a time.
/// @param file  Where to. @param report  What.
/// @param command  That repeats it. @param repeat  Times that counted.
void write_record(const std::filesystem::path& file, const Report& report, const std::string& command, int repeat);

}  // namespace lockstep::bandwidth
