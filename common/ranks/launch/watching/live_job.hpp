#pragma once
/// @file
/// Where the ranks of a job are while it runs: who waits for whom, in which collective, at which line.
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

namespace lockstep::launch {

/// What a running job's ranks on this host do, from the flight recorders in `folder` (job_folder.hpp, or a folder that
/// LOCKSTEP_FLIGHT_DIR named to ranks of another launcher): one line per rank, with the collective in which it waits
/// and for how long, or how many it is behind, and whether its process is stopped or gone; then whether anything moves,
/// who waits for whom, and who comes last to the collectives (arrivals.hpp). The ranks need not answer, so this also
/// works where they hang.
/// @param watch  How long the job is watched, to tell one that moves from one that hangs.
/// @param collectives  How many of the last ones are compared.
/// @throws IoError  No rank records there.
[[nodiscard]] std::string live_summary(const std::filesystem::path& folder, std::chrono::milliseconds watch,
                                       std::size_t collectives = 200);

/// The stack of each rank's threads as gdb or eu-stack tells it; says which package is missing where neither is
/// installed. @cost  Each rank stands still for up to a second.
[[nodiscard]] std::string live_stacks(const std::filesystem::path& folder);

}  // namespace lockstep::launch
