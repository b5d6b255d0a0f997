#pragma once
/// @file
/// What the runtime tells the checker about memory. All functions do nothing in plain mode; they may be called from any
/// thread, and wait while a kernel of another thread runs.
#include <cstddef>

#include "emulator/cuda/lockstep_emulator/export.h"

namespace lockstep::emulator {

/// A copy, a set or a library wrote device memory (or a __device__ variable).
LOCKSTEP_EMULATOR_API void host_wrote(const void* device_address, std::size_t bytes);
/// A copy or a library read device memory. Reports nothing: a buffer may be copied with its unused tail.
LOCKSTEP_EMULATOR_API void host_read(const void* device_address, std::size_t bytes);
/// cudaMalloc and cudaFree: nothing there is written.
LOCKSTEP_EMULATOR_API void forget(const void* begin, std::size_t bytes);
/// Host memory that kernels may use (cudaMallocHost, cudaHostRegister, cudaMallocManaged).
LOCKSTEP_EMULATOR_API void allow_host_memory(const void* begin, std::size_t bytes);
/// It is freed. @param begin  As given to allow_host_memory().
LOCKSTEP_EMULATOR_API void disallow_host_memory(const void* begin);
/// Host code touched device memory: reports kHostAccess. @param pc  Of the faulting instruction, or null.
/// In a kernel: the address is nobody's (the checker has said why before the access, if it was instrumented).
LOCKSTEP_EMULATOR_API void report_host_access(const void* address, const void* pc);

}  // namespace lockstep::emulator
