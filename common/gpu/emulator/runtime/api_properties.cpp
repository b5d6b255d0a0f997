#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <utility>

#include "emulator/cuda/lockstep_emulator/api_device.h"
#include "emulator/engine/device_memory.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/device_limits.hpp"

namespace {

using namespace lockstep::emulator;

constexpr int kVersion = 13000;

int machine_number(int device) { return settings().visible[static_cast<std::size_t>(device)]; }

template <std::size_t kCount>
void set_text(char (&to)[kCount], const std::string& text) {
  text.copy(to, kCount - 1);  // the rest is zero
}

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp all{};
  set_text(all.name, "Lockstep emulated device");
  set_text(all.uuid.bytes, "lockstep-dev-" + std::to_string(machine_number(device)));
  all.totalGlobalMem = DeviceMemory::instance().device_bytes();
  all.sharedMemPerBlock = limits::kSharedBytes;
  all.sharedMemPerBlockOptin = limits::kSharedOptInBytes;
  all.sharedMemPerMultiprocessor = limits::kSharedMultiprocessorBytes;
  all.reservedSharedMemPerBlock = limits::kSharedReservedBytes;
  all.regsPerBlock = all.regsPerMultiprocessor = limits::kRegisters;
  all.warpSize = limits::kWarpThreads;
  all.memPitch = 2147483647;
  all.maxThreadsPerBlock = limits::kBlockThreads;
  std::copy_n(std::begin({limits::kBlockX, limits::kBlockY, limits::kBlockZ}), 3, all.maxThreadsDim);
  std::copy_n(std::begin({limits::kGridX, limits::kGridYZ, limits::kGridYZ}), 3, all.maxGridSize);
  all.maxThreadsPerMultiProcessor = limits::kMultiprocessorThreads;
  all.maxBlocksPerMultiProcessor = limits::kMultiprocessorBlocks;
  all.totalConstMem = limits::kConstantBytes;
  all.major = 9;
  all.multiProcessorCount = limits::kMultiprocessors;
  all.l2CacheSize = limits::kCacheBytes;
  all.memoryBusWidth = 5120;
  all.asyncEngineCount = 3;
  all.pciBusID = machine_number(device);
  all.canMapHostMemory = all.concurrentKernels = all.unifiedAddressing = all.streamPrioritiesSupported = 1;
  all.cooperativeLaunch = all.clockRate = all.memoryClockRate = all.deviceOverlap = 1;
  all.globalL1CacheSupported = all.localL1CacheSupported = all.managedMemory = 1;
  all.canUseHostPointerForRegisteredMem = all.hostRegisterSupported = all.memoryPoolsSupported = 1;
  return all;
}

// The field that an attribute is an alias of; -1 if there is none.
int attribute_of(const cudaDeviceProp& all, cudaDeviceAttr attribute) {
  const std::pair<cudaDeviceAttr, std::size_t> values[] = {
      {cudaDevAttrMaxThreadsPerBlock, all.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, all.maxThreadsDim[0]},
      {cudaDevAttrMaxBlockDimY, all.maxThreadsDim[1]},
      {cudaDevAttrMaxBlockDimZ, all.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, all.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, all.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, all.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, all.sharedMemPerBlock},
      {cudaDevAttrTotalConstantMemory, all.totalConstMem},
      {cudaDevAttrWarpSize, all.warpSize},
      {cudaDevAttrMaxRegistersPerBlock, all.regsPerBlock},
      {cudaDevAttrClockRate, 1},  // kHz; not 0, to avoid divisions by zero, yet clearly not a GPU's value
      {cudaDevAttrMultiProcessorCount, all.multiProcessorCount},
      {cudaDevAttrIntegrated, 0},
      {cudaDevAttrCanMapHostMemory, 1},
      {cudaDevAttrComputeMode, 0},
      {cudaDevAttrConcurrentKernels, 1},
      {cudaDevAttrPciBusId, all.pciBusID},
      {cudaDevAttrPciDeviceId, 0},
      {cudaDevAttrMemoryClockRate, 1},
      {cudaDevAttrGlobalMemoryBusWidth, all.memoryBusWidth},
      {cudaDevAttrL2CacheSize, all.l2CacheSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, all.maxThreadsPerMultiProcessor},
      {cudaDevAttrAsyncEngineCount, all.asyncEngineCount},
      {cudaDevAttrUnifiedAddressing, 1},
      {cudaDevAttrPciDomainId, 0},
      {cudaDevAttrComputeCapabilityMajor, all.major},
      {cudaDevAttrComputeCapabilityMinor, all.minor},
      {cudaDevAttrStreamPrioritiesSupported, 1},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, all.sharedMemPerMultiprocessor},
      {cudaDevAttrMaxRegistersPerMultiprocessor, all.regsPerMultiprocessor},
      {cudaDevAttrManagedMemory, 1},
      {cudaDevAttrPageableMemoryAccess, 0},
      {cudaDevAttrConcurrentManagedAccess, 0},
      {cudaDevAttrCooperativeLaunch, 1},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, all.sharedMemPerBlockOptin},
      {cudaDevAttrHostRegisterSupported, 1},
      {cudaDevAttrMaxBlocksPerMultiprocessor, all.maxBlocksPerMultiProcessor},
      {cudaDevAttrReservedSharedMemoryPerBlock, all.reservedSharedMemPerBlock},
      {cudaDevAttrMemoryPoolsSupported, 1},
      {cudaDevAttrClusterLaunch, 0},
  };
  for (const auto& [name, value] : values) {
    if (name == attribute) return static_cast<int>(value);
  }
  return -1;
}

cudaError_t give_version(const char* call, int* version) {
  return api_call(call, ApiNeeds::kNothing, [&] {
    api_require(version != nullptr, cudaErrorInvalidValue, "the pointer to the version is null");
    *version = kVersion;
  });
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* version) { return give_version("cudaDriverGetVersion", version); }
cudaError_t cudaRuntimeGetVersion(int* version) { return give_version("cudaRuntimeGetVersion", version); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return api_call("cudaGetDeviceProperties", ApiNeeds::kDevice, [&] {
    api_require(properties != nullptr, cudaErrorInvalidValue, "the pointer to the properties is null");
    require_device(device);
    *properties = properties_of(device);
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return api_call("cudaDeviceGetAttribute", ApiNeeds::kDevice, [&] {
    api_require(value != nullptr, cudaErrorInvalidValue, "the pointer to the value is null");
    require_device(device);
    const int found = attribute_of(properties_of(device), attribute);
    api_require(found >= 0, cudaErrorInvalidValue, "the emulator does not know this attribute");
    *value = found;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return api_call("cudaDeviceGetPCIBusId", ApiNeeds::kDevice, [&] {
    require_device(device);
    api_require(text != nullptr && bytes >= 13, cudaErrorInvalidValue, "the text needs 13 bytes");
    std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02X:00.0", machine_number(device));
  });
}
