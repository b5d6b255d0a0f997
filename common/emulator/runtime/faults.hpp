#pragma once
/// @file
/// What happens where host code touches memory that checked mode keeps closed.

namespace lockstep::emulator {

/// Has faults of this process looked at: host code on closed memory is reported, and the process ends with status 86;
/// all others go to who handled them before. The first call counts.
void watch_faults();

/// Whether the calling thread runs a kernel from here on: its faults are then not the host's.
void set_runs_kernels(bool is_running);

/// Looks at a fault as the handler of watch_faults() does, for handlers that were installed after it.
/// @param address  What was touched. @param pc  The instruction. @param is_write  Whether it wanted to write.
/// @return  Whether the access may be tried again. Does not return where host code touched closed memory.
bool handle_fault(const void* address, const void* pc, bool is_write);

}  // namespace lockstep::emulator
