#pragma once
/// @file
/// How many files and connections this process may have open.
#include <cstdint>
#include <string_view>

namespace lockstep::net {

/// Raises the process's soft limit of open file descriptors where it is below `needed`, as far as the hard limit goes.
/// Leaves a limit that suffices alone: select(2) of other libraries ends at 1024.
/// @return  The soft limit afterwards. @throws IoError  The kernel refuses. Thread safety: any thread.
std::uint64_t raise_descriptor_limit(std::uint64_t needed);

/// As above for a process that cannot do with fewer.
/// @param what  For the message: "rank 0 of 1024 ranks".
/// @throws Error  The hard limit is below `needed`; says both and what to do.
void require_descriptors(std::uint64_t needed, std::string_view what);

}  // namespace lockstep::net
