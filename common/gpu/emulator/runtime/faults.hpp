#pragma once
/// @file
/// Handles faults of host code on memory that checked mode keeps closed.

namespace lockstep::emulator {

/// Installs a fault handler for this process: a fault of host code on closed memory is reported, and the process ends
/// with status 86; all others go to the previous handler. Only the first call has an effect.
void watch_faults();

/// Tells if the calling thread runs a kernel from here on: its faults are then not the host's.
void set_runs_kernels(bool is_running);

/// The runtime's FaultRepair: a kernel after a copy in its stream may use pinned memory that the host may not use yet.
/// @return  True if the page of `address` was closed for that reason, and is open now.
bool open_for_kernel(const void* address);

}  // namespace lockstep::emulator
