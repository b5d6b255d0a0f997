#pragma once
/// @file
/// What happens where host code touches memory that checked mode keeps closed.

namespace lockstep::emulator {

/// Has faults of this process looked at: host code on closed memory is reported, and the process ends with status 86;
/// all others go to who handled them before. The first call counts.
void watch_faults();

/// Whether the calling thread runs a kernel from here on: its faults are then not the host's.
void set_runs_kernels(bool is_running);

/// The runtime's FaultRepair: a kernel that stands behind a copy in its stream may use the pinned memory that the host
/// may not use yet. @return  Whether the page of `address` was closed for that reason, and is open now.
bool open_for_kernel(const void* address);

}  // namespace lockstep::emulator
