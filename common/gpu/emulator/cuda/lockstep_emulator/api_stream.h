#pragma once
/// @file
/// Streams and events of the runtime's C API.
#include "api_memory.h"
#include "export.h"
#include "runtime_types.h"

extern "C" {

/// Synchronizes with the legacy default stream.
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamCreate(cudaStream_t* stream);
/// @param flags  cudaStreamDefault or cudaStreamNonBlocking.
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
/// @param priority  Lower runs first if several can run; limited to what cudaDeviceGetStreamPriorityRange says.
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
/// Returns at once; issued work completes.
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamDestroy(cudaStream_t stream);
/// Waits for all work issued to the stream.
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamSynchronize(cudaStream_t stream);
/// cudaErrorNotReady if work is pending.
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamQuery(cudaStream_t stream);
/// Work issued to the stream from here on runs after the event's last record.
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0,
                                                      LOCKSTEP_EMULATOR_HERE);
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags);
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
/// Calls `function` on a separate thread, in stream order. It may wait for other streams and processes.
LOCKSTEP_EMULATOR_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data);
/// As cudaLaunchHostFunc; called even if the device has failed. Cannot be captured.
LOCKSTEP_EMULATOR_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                                        void* user_data, unsigned int flags);

/// With timestamps.
LOCKSTEP_EMULATOR_API cudaError_t cudaEventCreate(cudaEvent_t* event);
/// @param flags  cudaEventDefault, cudaEventBlockingSync, cudaEventDisableTiming.
LOCKSTEP_EMULATOR_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
/// Marks the end of the work issued to the stream so far; replaces an earlier mark.
LOCKSTEP_EMULATOR_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
/// As cudaEventRecord.
LOCKSTEP_EMULATOR_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr,
                                                           unsigned int flags = cudaEventRecordDefault);
/// cudaErrorNotReady if work before the mark is pending.
LOCKSTEP_EMULATOR_API cudaError_t cudaEventQuery(cudaEvent_t event);
/// Waits for the work before the mark.
LOCKSTEP_EMULATOR_API cudaError_t cudaEventSynchronize(cudaEvent_t event);
/// By the emulation's clock, which says nothing about a GPU.
LOCKSTEP_EMULATOR_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
/// Returns at once.
LOCKSTEP_EMULATOR_API cudaError_t cudaEventDestroy(cudaEvent_t event);

}  // extern "C"
