#pragma once
/// @file
/// Flags and structures of the runtime's C API. Names and numbers are CUDA's (CUDA Runtime API, "Data types used by
/// CUDA Runtime").
#include <stddef.h>

#include "../driver_types.h"

#define CUDART_VERSION 13000  ///< Of the API that is looked like: 13.0.

#define cudaHostAllocDefault 0x00        ///< Pinned.
#define cudaHostAllocPortable 0x01       ///< Accepted; all pinned memory is.
#define cudaHostAllocMapped 0x02         ///< Accepted; all pinned memory is.
#define cudaHostAllocWriteCombined 0x04  ///< Accepted without effect.
#define cudaHostRegisterDefault 0x00     ///< Pinned.
#define cudaHostRegisterPortable 0x01    ///< Accepted; all pinned memory is.
#define cudaHostRegisterMapped 0x02      ///< Accepted; all pinned memory is.
#define cudaHostRegisterReadOnly 0x08    ///< Accepted without effect.

#define cudaStreamDefault 0x00                   ///< Ordered against the legacy default stream.
#define cudaStreamNonBlocking 0x01               ///< Not ordered against it.
#define cudaStreamLegacy ((cudaStream_t)0x1)     ///< The default stream, as is a null handle.
#define cudaStreamPerThread ((cudaStream_t)0x2)  ///< A stream that each thread has of its own.

#define cudaEventDefault 0x00        ///< With time stamps.
#define cudaEventBlockingSync 0x01   ///< Accepted without effect.
#define cudaEventDisableTiming 0x02  ///< Without time stamps.
#define cudaEventInterprocess 0x04   ///< cudaErrorNotSupported.
#define cudaEventRecordDefault 0x00  ///< The only flag of cudaEventRecordWithFlags.
#define cudaEventWaitDefault 0x00    ///< The only flag of cudaStreamWaitEvent.

#define cudaDeviceScheduleAuto 0x00          ///< Accepted without effect.
#define cudaDeviceScheduleSpin 0x01          ///< Accepted without effect.
#define cudaDeviceScheduleYield 0x02         ///< Accepted without effect.
#define cudaDeviceScheduleBlockingSync 0x04  ///< Accepted without effect.
#define cudaMemAttachGlobal 0x01             ///< Of cudaMallocManaged.
#define cudaMemAttachHost 0x02               ///< Of cudaMallocManaged.

/// What kind of memory an address belongs to.
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};

/// Of cudaPointerGetAttributes.
struct cudaPointerAttributes {
  cudaMemoryType type;  ///< Unregistered: ordinary host memory.
  int device;           ///< Whose memory; -2 where none's.
  void* devicePointer;  ///< The address for kernels, or null.
  void* hostPointer;    ///< The address for the host, or null.
};

/// Of cudaFuncGetAttributes. Registers, local and static shared memory are the compiler's to know: they are 0.
struct cudaFuncAttributes {
  size_t sharedSizeBytes;         ///< 0.
  size_t constSizeBytes;          ///< 0.
  size_t localSizeBytes;          ///< 0.
  int maxThreadsPerBlock;         ///< As __launch_bounds__ says, or 1024.
  int numRegs;                    ///< 0.
  int ptxVersion;                 ///< 90.
  int binaryVersion;              ///< 90.
  int cacheModeCA;                ///< 0.
  int maxDynamicSharedSizeBytes;  ///< As cudaFuncSetAttribute set it.
  int preferredShmemCarveout;     ///< -1: the driver's choice.
};

/// Of cudaFuncSetAttribute.
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};

/// Accepted without effect.
enum cudaFuncCache {
  cudaFuncCachePreferNone = 0,
  cudaFuncCachePreferShared = 1,
  cudaFuncCachePreferL1 = 2,
  cudaFuncCachePreferEqual = 3,
};

/// Of cudaDeviceGetLimit and cudaDeviceSetLimit.
enum cudaLimit {
  cudaLimitStackSize = 0,
  cudaLimitPrintfFifoSize = 1,
  cudaLimitMallocHeapSize = 2,
};

/// Of cudaStreamBeginCapture, which is not supported.
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};

/// Of cudaStreamIsCapturing: always none.
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};

struct CUgraph_st;
struct CUgraphExec_st;
using cudaGraph_t = CUgraph_st*;          ///< None exists.
using cudaGraphExec_t = CUgraphExec_st*;  ///< None exists.

/// A function that a stream calls on the host; it must not call the API.
using cudaHostFn_t = void (*)(void* user_data);
/// As cudaHostFn_t, with the state of the stream.
using cudaStreamCallback_t = void (*)(cudaStream_t stream, cudaError_t status, void* user_data);
