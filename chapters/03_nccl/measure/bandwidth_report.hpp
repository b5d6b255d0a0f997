#pragma once
/// @file
/// The results of bus_bandwidth, as tables for people and as JSON.
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "03_nccl/measure/exact_inputs.hpp"

namespace lockstep::bandwidth {

/// One measurement; its result has been checked.
struct Measurement {
  std::string contender{};  ///< One of contender_names().
  comm::Collective collective = comm::Collective::kAllReduce;
  std::int64_t bytes = 0;  ///< Size of the whole buffer.
  double seconds = 0;      ///< The slowest rank's time, median over the repetitions; 0: not timed.
  double fastest = 0;      ///< The shortest of these times: on a busy machine, the least disturbed.
};

/// All results of a run.
struct Report {
  int world_size = 1;
  DType dtype = DType::kFloat32;
  comm::ReduceOp op = comm::ReduceOp::kSum;       ///< For reductions.
  std::vector<Measurement> measurements{};        ///< In order of measurement.
  std::map<std::string, std::string> left_out{};  ///< Contender -> reason.
};

/// Adds another job's measurements.
void merge(Report& report, const Report& other);

/// A table per collective: time, algorithm bandwidth and bus bandwidth, with a column for each contender; then the
/// contenders left out, and why.
[[nodiscard]] std::string tables(const Report& report);

/// For merging the reports of several jobs.
[[nodiscard]] nlohmann::json to_json(const Report& report);
/// @throws FormatError  `text` is not a report.
[[nodiscard]] Report report_from_json(const std::string& text);

/// Writes a file in the format of docs/measurements/: date, machine, command, and a row for each measurement that has a
/// time.
/// @param file  Output path. @param report  The results.
/// @param command  To repeat the run. @param repeat  Measured repetitions.
void write_record(const std::filesystem::path& file, const Report& report, const std::string& command, int repeat);

}  // namespace lockstep::bandwidth
