#pragma once
/// @file
/// Memory pools and placement of managed memory in the runtime's C API. All pools of a device share its memory; each
/// counts what was allocated from it.
#include <stdint.h>

#include "api_memory.h"
#include "export.h"
#include "runtime_types.h"

struct CUmemPoolHandle_st;
using cudaMemPool_t = CUmemPoolHandle_st*;

/// For cudaMemPoolSetAttribute and cudaMemPoolGetAttribute: int for the first three, uint64_t for the others.
enum cudaMemPoolAttr {
  cudaMemPoolReuseFollowEventDependencies = 1,
  cudaMemPoolReuseAllowOpportunistic = 2,
  cudaMemPoolReuseAllowInternalDependencies = 3,
  cudaMemPoolAttrReleaseThreshold = 4,
  cudaMemPoolAttrReservedMemCurrent = 5,
  cudaMemPoolAttrReservedMemHigh = 6,
  cudaMemPoolAttrUsedMemCurrent = 7,
  cudaMemPoolAttrUsedMemHigh = 8,
};
/// Kind of place.
enum cudaMemLocationType {
  cudaMemLocationTypeInvalid = 0,
  cudaMemLocationTypeDevice = 1,
  cudaMemLocationTypeHost = 2,
  cudaMemLocationTypeHostNuma = 3,
  cudaMemLocationTypeHostNumaCurrent = 4,
};
/// Where memory is or should be.
struct cudaMemLocation {
  cudaMemLocationType type;  ///< Device or host.
  int id;                    ///< The device's number.
};
enum cudaMemAllocationType {
  cudaMemAllocationTypeInvalid = 0,
  cudaMemAllocationTypePinned = 1,
};
enum cudaMemAllocationHandleType {
  cudaMemHandleTypeNone = 0,
};
/// For cudaMemPoolCreate.
struct cudaMemPoolProps {
  cudaMemAllocationType allocType;          ///< cudaMemAllocationTypePinned.
  cudaMemAllocationHandleType handleTypes;  ///< cudaMemHandleTypeNone.
  cudaMemLocation location;                 ///< The device.
  void* win32SecurityAttributes;            ///< Unused.
  size_t maxSize;                           ///< No effect.
  unsigned short usage;                     ///< No effect.
  unsigned char reserved[54];               ///< 0.
};
/// Accepted, no effect.
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly = 2,
  cudaMemAdviseSetPreferredLocation = 3,
  cudaMemAdviseUnsetPreferredLocation = 4,
  cudaMemAdviseSetAccessedBy = 5,
  cudaMemAdviseUnsetAccessedBy = 6,
};

extern "C" {

LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
/// The one set by cudaDeviceSetMemPool, or the default one.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
LOCKSTEP_EMULATOR_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
/// Its memory stays allocated until it is freed, and is counted no longer.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
/// Stored, no effect; 0 for cudaMemPoolAttrUsedMemHigh or cudaMemPoolAttrReservedMemHigh counts that anew.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
/// As set. Reserved memory is what is in use, since freed memory goes back to the device at once.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
/// No effect: freed memory goes back to the device at once.
LOCKSTEP_EMULATOR_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);

}  // extern "C"

namespace lockstep::emulator {

/// cudaMallocFromPoolAsync.
LOCKSTEP_EMULATOR_API cudaError_t allocate_from_pool(void** pointer, size_t bytes, cudaMemPool_t pool,
                                                     cudaStream_t stream, SourcePlace place);
/// cudaMemAdvise.
LOCKSTEP_EMULATOR_API cudaError_t advise(const void* pointer, size_t bytes);

}  // namespace lockstep::emulator

/// cudaMallocAsync from a particular pool.
template <typename T>
cudaError_t cudaMallocFromPoolAsync(T** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream,
                                    LOCKSTEP_EMULATOR_HERE) {
  return lockstep::emulator::allocate_from_pool(reinterpret_cast<void**>(pointer), bytes, pool, stream, place);
}
/// The same.
template <typename T>
cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream,
                            LOCKSTEP_EMULATOR_HERE) {
  return lockstep::emulator::allocate_from_pool(reinterpret_cast<void**>(pointer), bytes, pool, stream, place);
}

/// Does nothing: managed memory never migrates.
inline cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned int flags,
                                        cudaStream_t stream = nullptr) {
  static_cast<void>(flags);
  return cudaMemPrefetchAsync(pointer, bytes, location.id, stream);
}
/// Does nothing.
inline cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return lockstep::emulator::advise(pointer, bytes);
}
/// Does nothing. The form before CUDA 13.
inline cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, int) {
  return lockstep::emulator::advise(pointer, bytes);
}
/// Does nothing.
template <typename T>
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, T*, size_t = 0, unsigned int = cudaMemAttachHost) {
  return cudaSuccess;
}
