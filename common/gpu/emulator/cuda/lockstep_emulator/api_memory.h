#pragma once
/// @file
/// Allocation in the runtime's C API.
#include "export.h"
#include "runtime_types.h"
#include "source_place.h"

/// The place of the call, as a last parameter that callers omit.
#define LOCKSTEP_EMULATOR_HERE lockstep::emulator::SourcePlace place = lockstep::emulator::SourcePlace::here()

namespace lockstep::emulator {

/// cudaMalloc.
LOCKSTEP_EMULATOR_API cudaError_t allocate_device(void** pointer, size_t bytes, SourcePlace place);
/// cudaMallocAsync.
LOCKSTEP_EMULATOR_API cudaError_t allocate_device_async(void** pointer, size_t bytes, cudaStream_t stream,
                                                        SourcePlace place);
/// cudaMallocManaged.
LOCKSTEP_EMULATOR_API cudaError_t allocate_managed(void** pointer, size_t bytes, unsigned int flags, SourcePlace place);
/// cudaMallocHost and cudaHostAlloc.
LOCKSTEP_EMULATOR_API cudaError_t allocate_host(void** pointer, size_t bytes, unsigned int flags);

}  // namespace lockstep::emulator

/// Memory of the current device; its contents are arbitrary.
template <typename T>
cudaError_t cudaMalloc(T** pointer, size_t bytes, LOCKSTEP_EMULATOR_HERE) {
  return lockstep::emulator::allocate_device(reinterpret_cast<void**>(pointer), bytes, place);
}
/// The memory may be used after all work issued to `stream` so far. In a captured stream it belongs to the graph: only
/// a cudaFreeAsync() in a captured stream can free it.
template <typename T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream, LOCKSTEP_EMULATOR_HERE) {
  return lockstep::emulator::allocate_device_async(reinterpret_cast<void**>(pointer), bytes, stream, place);
}
/// Device memory that the host may use too; it never migrates.
template <typename T>
cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned int flags = cudaMemAttachGlobal,
                              LOCKSTEP_EMULATOR_HERE) {
  return lockstep::emulator::allocate_managed(reinterpret_cast<void**>(pointer), bytes, flags, place);
}
/// Pinned host memory.
template <typename T>
cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned int flags = cudaHostAllocDefault) {
  return lockstep::emulator::allocate_host(reinterpret_cast<void**>(pointer), bytes, flags);
}
/// Pinned host memory.
template <typename T>
cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned int flags) {
  return lockstep::emulator::allocate_host(reinterpret_cast<void**>(pointer), bytes, flags);
}

extern "C" {

/// Waits for the device, then frees.
LOCKSTEP_EMULATOR_API cudaError_t cudaFree(void* pointer);
/// Frees once all work issued to `stream` so far is done. A captured stream frees memory of a graph only.
LOCKSTEP_EMULATOR_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream, LOCKSTEP_EMULATOR_HERE);
/// Waits for all devices, then frees memory of cudaMallocHost or cudaHostAlloc.
LOCKSTEP_EMULATOR_API cudaError_t cudaFreeHost(void* pointer);
/// Pins memory. Unlike memory of cudaMallocHost, it is never closed to the host in checked mode.
LOCKSTEP_EMULATOR_API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags);
/// Undoes cudaHostRegister().
LOCKSTEP_EMULATOR_API cudaError_t cudaHostUnregister(void* pointer);
/// The same address: host and device share the addresses of pinned memory.
LOCKSTEP_EMULATOR_API cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer,
                                                           unsigned int flags);
/// cudaHostAllocMapped: true for all pinned memory.
LOCKSTEP_EMULATOR_API cudaError_t cudaHostGetFlags(unsigned int* flags, void* host_pointer);
/// For the current device.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes);
/// Any address is allowed: ordinary host memory is cudaMemoryTypeUnregistered.
LOCKSTEP_EMULATOR_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
/// Does nothing: managed memory never migrates.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device,
                                                       cudaStream_t stream = nullptr);

}  // extern "C"
