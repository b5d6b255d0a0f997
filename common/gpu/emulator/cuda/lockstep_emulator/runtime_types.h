#pragma once
/// @file
/// Flags and structures of the runtime's C API. Names and numbers are CUDA's (CUDA Runtime API, "Data types used by
/// CUDA Runtime").
#include <stddef.h>

#include "../driver_types.h"

#define CUDART_VERSION 13000  ///< The emulated version, 13.0.

#define cudaHostAllocDefault 0x00        ///< Pinned.
#define cudaHostAllocPortable 0x01       ///< Accepted; true for all pinned memory.
#define cudaHostAllocMapped 0x02         ///< Accepted; true for all pinned memory.
#define cudaHostAllocWriteCombined 0x04  ///< Accepted, no effect.
#define cudaHostRegisterDefault 0x00     ///< Pinned.
#define cudaHostRegisterPortable 0x01    ///< Accepted; true for all pinned memory.
#define cudaHostRegisterMapped 0x02      ///< Accepted; true for all pinned memory.
#define cudaHostRegisterReadOnly 0x08    ///< Accepted, no effect.

#define cudaStreamDefault 0x00                   ///< Synchronizes with the legacy default stream.
#define cudaStreamNonBlocking 0x01               ///< Does not synchronize with it.
#define cudaStreamLegacy ((cudaStream_t)0x1)     ///< The default stream; same as a null handle.
#define cudaStreamPerThread ((cudaStream_t)0x2)  ///< A separate stream for each thread.

#define cudaEventDefault 0x00        ///< With timestamps.
#define cudaEventBlockingSync 0x01   ///< Accepted, no effect.
#define cudaEventDisableTiming 0x02  ///< Without timestamps.
#define cudaEventInterprocess 0x04   ///< cudaErrorNotSupported.
#define cudaEventRecordDefault 0x00  ///< The only flag of cudaEventRecordWithFlags.
#define cudaEventWaitDefault 0x00    ///< The only flag of cudaStreamWaitEvent.

#define cudaDeviceScheduleAuto 0x00          ///< Accepted, no effect.
#define cudaDeviceScheduleSpin 0x01          ///< Accepted, no effect.
#define cudaDeviceScheduleYield 0x02         ///< Accepted, no effect.
#define cudaDeviceScheduleBlockingSync 0x04  ///< Accepted, no effect.
#define cudaMemAttachGlobal 0x01             ///< For cudaMallocManaged.
#define cudaMemAttachHost 0x02               ///< For cudaMallocManaged.

/// Kind of memory at an address.
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};

/// For cudaPointerGetAttributes.
struct cudaPointerAttributes {
  cudaMemoryType type;  ///< Unregistered: ordinary host memory.
  int device;           ///< Owner of the memory; -2 if none.
  void* devicePointer;  ///< The address for kernels, or null.
  void* hostPointer;    ///< The address for the host, or null.
};

/// For cudaFuncGetAttributes. Registers, local and static shared memory are known only to the compiler: they are 0.
struct cudaFuncAttributes {
  size_t sharedSizeBytes;         ///< 0.
  size_t constSizeBytes;          ///< 0.
  size_t localSizeBytes;          ///< 0.
  int maxThreadsPerBlock;         ///< From __launch_bounds__, or 1024.
  int numRegs;                    ///< 0.
  int ptxVersion;                 ///< 90.
  int binaryVersion;              ///< 90.
  int cacheModeCA;                ///< 0.
  int maxDynamicSharedSizeBytes;  ///< From cudaFuncSetAttribute.
  int preferredShmemCarveout;     ///< -1: the driver's choice.
};

/// For cudaFuncSetAttribute.
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};

/// Accepted, no effect.
enum cudaFuncCache {
  cudaFuncCachePreferNone = 0,
  cudaFuncCachePreferShared = 1,
  cudaFuncCachePreferL1 = 2,
  cudaFuncCachePreferEqual = 3,
};

/// For cudaFuncAttributePreferredSharedMemoryCarveout; no effect.
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxL1 = 0,
  cudaSharedmemCarveoutMaxShared = 100,
};

/// Accepted, no effect: banks have 4 bytes.
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault = 0,
  cudaSharedMemBankSizeFourByte = 1,
  cudaSharedMemBankSizeEightByte = 2,
};

/// For cudaDeviceGetP2PAttribute.
enum cudaDeviceP2PAttr {
  cudaDevP2PAttrPerformanceRank = 1,
  cudaDevP2PAttrAccessSupported = 2,
  cudaDevP2PAttrNativeAtomicSupported = 3,
  cudaDevP2PAttrCudaArrayAccessSupported = 4,
};

/// For cudaDeviceGetLimit and cudaDeviceSetLimit.
enum cudaLimit {
  cudaLimitStackSize = 0,
  cudaLimitPrintfFifoSize = 1,
  cudaLimitMallocHeapSize = 2,
};

/// Calling conventions of the API and of functions that it calls: on Linux the usual ones.
#define CUDARTAPI
#define CUDART_CB

/// A function that a stream calls on the host; it must not call the API.
using cudaHostFn_t = void (*)(void* user_data);
/// As cudaHostFn_t, but also receives the stream's status.
using cudaStreamCallback_t = void (*)(cudaStream_t stream, cudaError_t status, void* user_data);
