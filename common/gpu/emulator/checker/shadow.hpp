#pragma once
/// @file
/// Notifications from the runtime to the checker about memory. All functions do nothing in plain mode; any thread may
/// call them, and they wait while another thread's kernel runs.
#include <cstddef>

#include "emulator/cuda/lockstep_emulator/export.h"

namespace lockstep::emulator {

/// A copy, a set or a library wrote device memory (or a __device__ variable).
LOCKSTEP_EMULATOR_API void host_wrote(const void* device_address, std::size_t bytes);
/// A copy or a library read device memory. Never reports: a buffer may be copied with its unused tail.
LOCKSTEP_EMULATOR_API void host_read(const void* device_address, std::size_t bytes);
/// For cudaMalloc and cudaFree: marks the memory as unwritten.
LOCKSTEP_EMULATOR_API void forget(const void* begin, std::size_t bytes);
/// Host memory that kernels may use (cudaMallocHost, cudaHostRegister, cudaMallocManaged).
LOCKSTEP_EMULATOR_API void allow_host_memory(const void* begin, std::size_t bytes);
/// Undoes allow_host_memory() when the memory is freed. @param begin  As given to allow_host_memory().
LOCKSTEP_EMULATOR_API void disallow_host_memory(const void* begin);
/// Host code touched device memory: reports kHostAccess. @param pc  Of the faulting instruction, or null. In a kernel:
/// the address is unallocated (if the access was instrumented, the checker has already reported it).
LOCKSTEP_EMULATOR_API void report_host_access(const void* address, const void* pc);

}  // namespace lockstep::emulator
