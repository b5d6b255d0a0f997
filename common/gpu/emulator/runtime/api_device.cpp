#include "emulator/cuda/lockstep_emulator/api_device.h"

#include <array>
#include <mutex>
#include <set>
#include <utility>

#include "emulator/checker/shadow.hpp"
#include "emulator/engine/device_memory.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/capture.hpp"
#include "emulator/runtime/device_limits.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/host_memory.hpp"
#include "emulator/runtime/pools.hpp"
#include "emulator/runtime/scheduler.hpp"

namespace {

using namespace lockstep::emulator;

using Limits = std::array<size_t, 3>;  // by cudaLimit
constexpr Limits kDefaultLimits{1024, 1 << 20, 8 << 20};

// Peer access and limits set by a program: stored only to be returned by queries.
struct Choices {
  Choices() { limits.fill(kDefaultLimits); }
  Limits& limits_of(int device) { return limits[static_cast<size_t>(device)]; }

  std::mutex mutex;
  std::set<std::pair<int, int>> peers;
  std::array<Limits, kMaxDevices> limits;
};

Choices& choices() {
  static Choices& all = *new Choices;  // threads may outlive the destructors of statics
  return all;
}

// Does not wait for other devices: the caller ensures that none of them uses this memory (cudaDeviceReset).
void free_pinned(int device) {
  HostMemory& memory = HostMemory::instance();
  for (const std::byte* const begin : memory.all_of(device)) {
    disallow_host_memory(begin);  // before another allocation can have the address
    if (!memory.free(begin)) memory.remove_registered(begin);
  }
}

void require_limit(cudaLimit limit) {
  api_require(limit >= cudaLimitStackSize && limit <= cudaLimitMallocHeapSize, cudaErrorInvalidValue,
              "the emulator does not know this limit");
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return api_call("cudaGetDeviceCount", ApiNeeds::kNothing, [&] {
    api_require(count != nullptr, cudaErrorInvalidValue, "the pointer to the count is null");
    *count = device_count();
    api_require(*count > 0, cudaErrorNoDevice, "there is no device (CUDA_VISIBLE_DEVICES, LOCKSTEP_EMULATOR_DEVICES)");
  });
}

cudaError_t cudaSetDevice(int device) {
  return api_call("cudaSetDevice", ApiNeeds::kDevice, [&] { set_current_device(device); });
}

cudaError_t cudaGetDevice(int* device) {
  return api_call("cudaGetDevice", ApiNeeds::kDevice, [&] {
    api_require(device != nullptr, cudaErrorInvalidValue, "the pointer to the number is null");
    *device = current_device();
  });
}

cudaError_t cudaDeviceSynchronize() {
  return api_call("cudaDeviceSynchronize", ApiNeeds::kWorkingDevice, [] {
    refuse_in_captures(current_device());
    Scheduler::instance().wait_device(current_device());
    throw_failure(current_device());
  });
}

cudaError_t cudaDeviceReset() {
  return api_call("cudaDeviceReset", ApiNeeds::kDevice, [] {
    const int device = current_device();
    abandon_captures(device);
    Scheduler::instance().reset(device);
    Handles::instance().remove_all(device);
    reset_pools(device);
    DeviceMemory::instance().free_all(device);
    free_pinned(device);
    const std::lock_guard lock(choices().mutex);
    std::erase_if(choices().peers, [device](const auto& pair) { return pair.first == device; });
    choices().limits_of(device) = kDefaultLimits;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned int) {
  return api_call("cudaSetDeviceFlags", ApiNeeds::kDevice, [] {});
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return api_call("cudaInitDevice", ApiNeeds::kDevice, [&] { require_device(device); });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return api_call("cudaDeviceSetCacheConfig", ApiNeeds::kDevice, [] {});
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return api_call("cudaDeviceSetSharedMemConfig", ApiNeeds::kDevice, [] {});
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return api_call("cudaDeviceGetSharedMemConfig", ApiNeeds::kDevice, [&] {
    api_require(config != nullptr, cudaErrorInvalidValue, "the pointer to the configuration is null");
    *config = cudaSharedMemBankSizeFourByte;
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties) {
  return api_call("cudaChooseDevice", ApiNeeds::kDevice, [&] {
    api_require(device != nullptr && properties != nullptr, cudaErrorInvalidValue, "an argument is null");
    *device = 0;
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int device, int peer) {
  return api_call("cudaDeviceGetP2PAttribute", ApiNeeds::kDevice, [&] {
    require_device(device);
    require_device(peer);
    api_require(device != peer, cudaErrorInvalidDevice, "the two devices are the same");
    api_require(value != nullptr, cudaErrorInvalidValue, "the pointer to the value is null");
    *value = attribute == cudaDevP2PAttrAccessSupported || attribute == cudaDevP2PAttrNativeAtomicSupported ? 1 : 0;
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return api_call("cudaDeviceGetLimit", ApiNeeds::kDevice, [&] {
    api_require(value != nullptr, cudaErrorInvalidValue, "the pointer to the value is null");
    require_limit(limit);
    const std::lock_guard lock(choices().mutex);
    *value = choices().limits_of(current_device())[static_cast<size_t>(limit)];
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return api_call("cudaDeviceSetLimit", ApiNeeds::kDevice, [&] {
    require_limit(limit);
    const std::lock_guard lock(choices().mutex);
    choices().limits_of(current_device())[static_cast<size_t>(limit)] = value;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api_call("cudaDeviceGetStreamPriorityRange", ApiNeeds::kDevice, [&] {
    if (least != nullptr) *least = limits::kLeastPriority;
    if (greatest != nullptr) *greatest = limits::kGreatestPriority;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  return api_call("cudaDeviceCanAccessPeer", ApiNeeds::kDevice, [&] {
    api_require(can_access != nullptr, cudaErrorInvalidValue, "the pointer to the answer is null");
    require_device(device);
    require_device(peer);
    *can_access = device != peer ? 1 : 0;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return api_call("cudaDeviceEnablePeerAccess", ApiNeeds::kWorkingDevice, [&] {
    require_device(peer);
    api_require(flags == 0, cudaErrorInvalidValue, "flags are 0");
    api_require(peer != current_device(), cudaErrorInvalidDevice, "a device is no peer of its own");
    const std::lock_guard lock(choices().mutex);
    api_require(choices().peers.emplace(current_device(), peer).second, cudaErrorPeerAccessAlreadyEnabled, "");
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return api_call("cudaDeviceDisablePeerAccess", ApiNeeds::kWorkingDevice, [&] {
    require_device(peer);
    const std::lock_guard lock(choices().mutex);
    api_require(choices().peers.erase({current_device(), peer}) == 1, cudaErrorPeerAccessNotEnabled, "");
  });
}

cudaError_t cudaProfilerStart() {
  return api_call("cudaProfilerStart", ApiNeeds::kDevice, [] {});
}
cudaError_t cudaProfilerStop() {
  return api_call("cudaProfilerStop", ApiNeeds::kDevice, [] {});
}
