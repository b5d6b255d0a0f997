#pragma once
/// @file
/// This process's limit on open files and connections.
#include <cstdint>
#include <string_view>

namespace lockstep::net {

/// Raises the process's soft limit on open file descriptors to `needed`, or to the hard limit if that is lower. Leaves
/// a sufficient limit unchanged: select(2) in other libraries ends at 1024.
/// @return  The soft limit afterwards. @throws IoError  The kernel refuses. Thread safety: any thread.
std::uint64_t raise_descriptor_limit(std::uint64_t needed);

/// The same for a process that cannot run with fewer.
/// @param what  For the message: "rank 0 of 1024 ranks".
/// @throws Error  The hard limit is below `needed`; reports both, and a remedy.
void require_descriptors(std::uint64_t needed, std::string_view what);

}  // namespace lockstep::net
