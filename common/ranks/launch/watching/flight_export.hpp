#pragma once
/// @file
/// Flight records in the format of PyTorch's flight recorder.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "comm/flight_recorder/flight_recorder.hpp"

namespace lockstep::launch {

/// A rank's record as PyTorch's analyzer (torchfrtrace) reads it. Differences from a record that PyTorch has written:
/// names begin with "nccl:" for every backend, because the analyzer accepts few others; a collective that failed counts
/// as "started"; each pair and direction of sends is a group of its own, because the analyzer expects all of a group's
/// ranks in each call; a frame's name is our description of the call. Left out: entries of groups whose ranks are not
/// known.
/// @param unix_minus_steady_ns  Added to the record's times: the analyzer's begin in 1970.
/// @source  "Flight Recorder for Debugging Stuck Jobs", PyTorch Tutorials (the fields), and
///          torch/distributed/flight_recorder/components/builder.py (their use).
[[nodiscard]] nlohmann::json to_pytorch_record(const comm::FlightRecord& record, std::int64_t unix_minus_steady_ns);

/// The outcome of export_flight_files().
struct FlightExport {
  std::vector<int> ranks;    ///< With a file, ascending.
  std::vector<int> missing;  ///< Other ranks of the job: they ran on other hosts, or recorded nothing.
  std::size_t left_out = 0;  ///< Entries of groups whose ranks are not known.
  std::string problems;      ///< A line for each unreadable file.
};

/// Writes to_pytorch_record() of each rank in `folder` to a file `rank_N` in `to`, which is made if it does not exist.
/// @throws UsageError  There is no record, or such a file exists. @throws IoError  It cannot be written.
[[nodiscard]] FlightExport export_flight_files(const std::filesystem::path& folder, const std::filesystem::path& to);

}  // namespace lockstep::launch
