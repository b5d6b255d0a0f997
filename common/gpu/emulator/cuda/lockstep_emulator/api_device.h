#pragma once
/// @file
/// Errors, versions and devices of the runtime's C API.
#include "device_properties.h"
#include "export.h"
#include "runtime_types.h"

extern "C" {

/// The calling thread's last error; resets it unless the device has failed permanently.
LOCKSTEP_EMULATOR_API cudaError_t cudaGetLastError();
/// The same, without the reset.
LOCKSTEP_EMULATOR_API cudaError_t cudaPeekAtLastError();
/// The enumerator's name.
LOCKSTEP_EMULATOR_API const char* cudaGetErrorName(cudaError_t error);
/// One sentence.
LOCKSTEP_EMULATOR_API const char* cudaGetErrorString(cudaError_t error);

/// 13000: 13.0.
LOCKSTEP_EMULATOR_API cudaError_t cudaDriverGetVersion(int* version);
/// 13000: 13.0.
LOCKSTEP_EMULATOR_API cudaError_t cudaRuntimeGetVersion(int* version);

/// LOCKSTEP_EMULATOR_DEVICES, restricted by CUDA_VISIBLE_DEVICES.
LOCKSTEP_EMULATOR_API cudaError_t cudaGetDeviceCount(int* count);
/// For the calling thread.
LOCKSTEP_EMULATOR_API cudaError_t cudaSetDevice(int device);
/// The calling thread's; initially 0.
LOCKSTEP_EMULATOR_API cudaError_t cudaGetDevice(int* device);
/// Compute capability 9.0; values without meaning here are an H100's or 0.
LOCKSTEP_EMULATOR_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
/// As cudaGetDeviceProperties.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
/// "0000:NN:00.0" with the device's number.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device);
/// Waits for everything issued to the current device.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceSynchronize();
/// Waits, frees the current device's memory, pinned memory and streams, and clears its failure. Other devices must not
/// use that pinned memory meanwhile.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceReset();
/// No effect: there is only one way of waiting.
LOCKSTEP_EMULATOR_API cudaError_t cudaSetDeviceFlags(unsigned int flags);
/// No effect: a device needs no preparation.
LOCKSTEP_EMULATOR_API cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
/// No effect.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
/// No effect.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);
/// Always 4 bytes.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config);
/// Device 0: all are alike.
LOCKSTEP_EMULATOR_API cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties);
/// 1 for access and atomics between two devices, else 0.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                                                            int peer);
/// The values set by cudaDeviceSetLimit, which have no effect.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
/// Stored, no effect.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
/// 0 and -1: two levels are enough to order the streams of a device.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);

/// Emulated devices can all reach each other.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer);
/// Stored; kernels can access all devices' memory anyway.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
/// Undoes cudaDeviceEnablePeerAccess().
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceDisablePeerAccess(int peer);

/// Does nothing.
LOCKSTEP_EMULATOR_API cudaError_t cudaProfilerStart();
/// Does nothing.
LOCKSTEP_EMULATOR_API cudaError_t cudaProfilerStop();

}  // extern "C"
