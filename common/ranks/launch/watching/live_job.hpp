#pragma once
/// @file
/// The status of a running job's ranks: which rank waits for which, in which collective, at which line.
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

namespace lockstep::launch {

/// The activity of a running job's ranks on this host, from the flight recorders in `folder` (job_folder.hpp, or a
/// folder that LOCKSTEP_FLIGHT_DIR named to ranks of another launcher): one line per rank, with the collective in which
/// it waits and for how long, or how many collectives it is behind, and whether its process is stopped or gone; then
/// whether the job makes progress, which rank waits for which, and which arrives last at the collectives
/// (arrivals.hpp). The ranks need not answer, so this also works if they hang.
/// @param watch  How long to watch the job, to tell progress from a hang.
/// @param collectives  How many of the last ones to compare.
/// @throws IoError  No rank records in `folder`.
[[nodiscard]] std::string live_summary(const std::filesystem::path& folder, std::chrono::milliseconds watch,
                                       std::size_t collectives = 200);

/// The stack of each rank's threads from gdb or eu-stack; names the missing package if neither is installed. @cost
/// Stops each rank for up to a second.
[[nodiscard]] std::string live_stacks(const std::filesystem::path& folder);

}  // namespace lockstep::launch
