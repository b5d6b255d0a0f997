#pragma once
/// @file
/// Errors, versions and devices of the runtime's C API.
#include "device_properties.h"
#include "export.h"
#include "runtime_types.h"

extern "C" {

/// The calling thread's last error; forgets it unless the device has failed for good.
LOCKSTEP_EMULATOR_API cudaError_t cudaGetLastError();
/// The same, and remembers it.
LOCKSTEP_EMULATOR_API cudaError_t cudaPeekAtLastError();
/// The enumerator's name.
LOCKSTEP_EMULATOR_API const char* cudaGetErrorName(cudaError_t error);
/// One sentence.
LOCKSTEP_EMULATOR_API const char* cudaGetErrorString(cudaError_t error);

/// 13000: 13.0.
LOCKSTEP_EMULATOR_API cudaError_t cudaDriverGetVersion(int* version);
/// 13000: 13.0.
LOCKSTEP_EMULATOR_API cudaError_t cudaRuntimeGetVersion(int* version);

/// LOCKSTEP_EMULATOR_DEVICES, as far as CUDA_VISIBLE_DEVICES leaves them.
LOCKSTEP_EMULATOR_API cudaError_t cudaGetDeviceCount(int* count);
/// Of the calling thread.
LOCKSTEP_EMULATOR_API cudaError_t cudaSetDevice(int device);
/// Of the calling thread; 0 at first.
LOCKSTEP_EMULATOR_API cudaError_t cudaGetDevice(int* device);
/// A compute capability of 9.0; amounts that mean nothing here are an H100's or 0.
LOCKSTEP_EMULATOR_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
/// As cudaGetDeviceProperties.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
/// "0000:NN:00.0" with the device's number.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device);
/// Waits for everything issued to the current device.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceSynchronize();
/// Waits, frees the current device's memory and streams, and forgets that a kernel failed.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceReset();
/// Remembers nothing: all ways of waiting are one.
LOCKSTEP_EMULATOR_API cudaError_t cudaSetDeviceFlags(unsigned int flags);
/// The amounts of cudaDeviceSetLimit, without effect.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit);
/// Remembered without effect.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value);
/// 0 and -1, as on an H100 in spirit: two levels suffice to order the streams of a device.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);

/// Emulated devices can all reach each other.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer);
/// Remembered; kernels reach all devices' memory anyway.
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
/// Undoes cudaDeviceEnablePeerAccess().
LOCKSTEP_EMULATOR_API cudaError_t cudaDeviceDisablePeerAccess(int peer);

/// Does nothing.
LOCKSTEP_EMULATOR_API cudaError_t cudaProfilerStart();
/// Does nothing.
LOCKSTEP_EMULATOR_API cudaError_t cudaProfilerStop();

}  // extern "C"
