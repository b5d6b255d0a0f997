#pragma once
/// @file
/// The flight records of all ranks of a job on this host.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "comm/flight_recorder/flight_recorder.hpp"

namespace lockstep::launch {

/// What a job's folder holds.
struct FlightFiles {
  std::map<int, comm::FlightRecord> of_rank;  ///< By rank.
  std::string problems;                       ///< A line for each file that cannot be read; indented by two blanks.
};

/// Reads the files of all ranks, also while the ranks run. @param folder  Where they record; may lack.
[[nodiscard]] FlightFiles read_flight_files(const std::filesystem::path& folder);

/// Whether all ranks of the job take part in it: a collective of the whole job's group (0).
[[nodiscard]] bool is_of_all(const comm::FlightEntry& entry) noexcept;

/// How many collectives of the whole job's group a rank has entered: their numbers count from 0 without gaps.
[[nodiscard]] std::uint64_t entered(const comm::FlightRecord& record) noexcept;

}  // namespace lockstep::launch
