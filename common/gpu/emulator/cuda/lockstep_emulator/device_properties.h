#pragma once
/// @file
/// Device properties and attributes. Names and numbers are CUDA's (CUDA Runtime API, "Device Management").
#include <stddef.h>

/// Identifies a device.
struct cudaUUID_t {
  char bytes[16];  ///< Unique.
};

/// For cudaGetDeviceProperties, without the fields for textures.
struct cudaDeviceProp {
  char name[256];                         ///< "Lockstep emulated device".
  cudaUUID_t uuid;                        ///< Differs between devices.
  size_t totalGlobalMem;                  ///< Bytes; LOCKSTEP_EMULATOR_MEMORY.
  size_t sharedMemPerBlock;               ///< Bytes, by default.
  int regsPerBlock;                       ///< Nominal.
  int warpSize;                           ///< Threads.
  size_t memPitch;                        ///< Largest pitch of a copy.
  int maxThreadsPerBlock;                 ///< All dimensions together.
  int maxThreadsDim[3];                   ///< Each dimension of a block.
  int maxGridSize[3];                     ///< Each dimension of a grid.
  size_t totalConstMem;                   ///< Bytes.
  int major;                              ///< Compute capability.
  int minor;                              ///< Compute capability.
  int multiProcessorCount;                ///< Nominal.
  int integrated;                         ///< 0.
  int canMapHostMemory;                   ///< 1.
  int concurrentKernels;                  ///< 1, though blocks run one after another.
  int ECCEnabled;                         ///< 0.
  int pciBusID;                           ///< Number of the device in the machine.
  int pciDeviceID;                        ///< 0.
  int pciDomainID;                        ///< 0.
  int tccDriver;                          ///< 0.
  int asyncEngineCount;                   ///< Nominal.
  int unifiedAddressing;                  ///< 1.
  int memoryBusWidth;                     ///< Nominal.
  int l2CacheSize;                        ///< Nominal.
  int persistingL2CacheMaxSize;           ///< 0.
  int maxThreadsPerMultiProcessor;        ///< Nominal.
  int streamPrioritiesSupported;          ///< 1.
  int globalL1CacheSupported;             ///< 1.
  int localL1CacheSupported;              ///< 1.
  size_t sharedMemPerMultiprocessor;      ///< Bytes.
  int regsPerMultiprocessor;              ///< Nominal.
  int managedMemory;                      ///< 1.
  int isMultiGpuBoard;                    ///< 0.
  int multiGpuBoardGroupID;               ///< 0.
  int hostNativeAtomicSupported;          ///< 0.
  int pageableMemoryAccess;               ///< 0.
  int concurrentManagedAccess;            ///< 0.
  int computePreemptionSupported;         ///< 0.
  int canUseHostPointerForRegisteredMem;  ///< 1.
  int cooperativeLaunch;                  ///< 1.
  size_t sharedMemPerBlockOptin;          ///< Bytes; cudaFuncSetAttribute allows them.
  int maxBlocksPerMultiProcessor;         ///< Nominal.
  size_t reservedSharedMemPerBlock;       ///< Bytes used by CUDA.
  int hostRegisterSupported;              ///< 1.
  int memoryPoolsSupported;               ///< 1: cudaMallocAsync.
  int clusterLaunch;                      ///< 0.
  int clockRate;                          ///< 1, not 0: programs divide by it. CUDA 13 has no such field.
  int memoryClockRate;                    ///< Likewise.
  int deviceOverlap;                      ///< 1. CUDA 13 has no such field.
  int computeMode;                        ///< 0. CUDA 13 has no such field.
  int kernelExecTimeoutEnabled;           ///< 0. CUDA 13 has no such field.
};

/// For cudaDeviceGetAttribute; any other number gives cudaErrorInvalidValue.
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxBlockDimX = 2,
  cudaDevAttrMaxBlockDimY = 3,
  cudaDevAttrMaxBlockDimZ = 4,
  cudaDevAttrMaxGridDimX = 5,
  cudaDevAttrMaxGridDimY = 6,
  cudaDevAttrMaxGridDimZ = 7,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrTotalConstantMemory = 9,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrClockRate = 13,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrCanMapHostMemory = 19,
  cudaDevAttrComputeMode = 20,
  cudaDevAttrConcurrentKernels = 31,
  cudaDevAttrPciBusId = 33,
  cudaDevAttrPciDeviceId = 34,
  cudaDevAttrMemoryClockRate = 36,
  cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrAsyncEngineCount = 40,
  cudaDevAttrUnifiedAddressing = 41,
  cudaDevAttrPciDomainId = 50,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrStreamPrioritiesSupported = 78,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrManagedMemory = 83,
  cudaDevAttrPageableMemoryAccess = 88,
  cudaDevAttrConcurrentManagedAccess = 89,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrHostRegisterSupported = 99,
  cudaDevAttrMaxBlocksPerMultiprocessor = 106,
  cudaDevAttrReservedSharedMemoryPerBlock = 111,
  cudaDevAttrMemoryPoolsSupported = 115,
  cudaDevAttrClusterLaunch = 120,
};
