#pragma once
/// @file
/// The contenders of bus_bandwidth.
#include <string>
#include <vector>

#include "03_nccl/choose_backend.hpp"

namespace lockstep::bandwidth {

/// "star", "ring", "shared_memory", "gloo", "mpi", "nccl": in the order of the table.
[[nodiscard]] const std::vector<std::string>& contender_names();

/// Why a contender cannot run in this build or on this machine; empty if it can, as far as one process can tell.
/// @param name     One of contender_names().
/// @param options  For nccl.
[[nodiscard]] std::string why_not(const std::string& name, const backend::BackendOptions& options);

/// Whether its times are meaningful; the emulator's are not.
[[nodiscard]] bool is_timed(const std::string& name);

/// Whether mpirun must start its ranks.
[[nodiscard]] bool needs_mpirun(const std::string& name);

/// The start of a command that runs `world_size` ranks; empty if Open MPI's mpirun is not installed.
[[nodiscard]] std::vector<std::string> mpirun_command(int world_size);

}  // namespace lockstep::bandwidth
