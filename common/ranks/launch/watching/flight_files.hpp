#pragma once
/// @file
/// The flight records of all ranks of a job on this host.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "comm/flight_recorder/flight_recorder.hpp"

namespace lockstep::launch {

/// The content of a job's folder.
struct FlightFiles {
  std::map<int, comm::FlightRecord> of_rank;
  std::string problems;  ///< A line for each unreadable file, indented by two blanks.
};

/// Reads the files of all ranks, which may be running. @param folder  Need not exist.
[[nodiscard]] FlightFiles read_flight_files(const std::filesystem::path& folder);

/// Whether it is a collective of all ranks of the job (group 0).
[[nodiscard]] bool is_of_all(const comm::FlightEntry& entry) noexcept;

/// Number of collectives of group 0 that a rank has entered: they are numbered from 0 without gaps.
[[nodiscard]] std::uint64_t entered(const comm::FlightRecord& record) noexcept;

}  // namespace lockstep::launch
