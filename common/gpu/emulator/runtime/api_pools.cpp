#include "emulator/cuda/lockstep_emulator/api_pools.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "emulator/engine/device_memory.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/transfer.hpp"

// A pool: a device, and the values that a program has set.
struct CUmemPoolHandle_st {
  int device = 0;
  std::map<cudaMemPoolAttr, std::uint64_t> values{{cudaMemPoolReuseFollowEventDependencies, 1},
                                                  {cudaMemPoolReuseAllowOpportunistic, 1},
                                                  {cudaMemPoolReuseAllowInternalDependencies, 1},
                                                  {cudaMemPoolAttrReleaseThreshold, 0}};
};

namespace {

using namespace lockstep::emulator;

struct Pools {
  Pools() {
    for (int device = 0; device < kMaxDevices; ++device) {
      auto pool = std::make_unique<CUmemPoolHandle_st>();
      pool->device = device;
      defaults[static_cast<std::size_t>(device)] = current[static_cast<std::size_t>(device)] = pool.get();
      all[pool.get()] = std::move(pool);
    }
  }
  std::mutex mutex;
  std::map<cudaMemPool_t, std::unique_ptr<CUmemPoolHandle_st>> all;
  std::array<cudaMemPool_t, kMaxDevices> defaults{}, current{};
};

Pools& pools() {
  static auto* const kPools = new Pools;  // NOLINT: never destroyed, for calls of other threads at exit
  return *kPools;
}

// Calls use(pools) under the lock.
template <typename Use>
cudaError_t with_pools(const char* call, Use use) {
  return api_call(call, ApiNeeds::kDevice, [&] {
    const std::scoped_lock lock(pools().mutex);
    use(pools());
  });
}

void require_pool(const Pools& all, cudaMemPool_t pool) {
  api_require(all.all.contains(pool), cudaErrorInvalidValue, "not a live memory pool");
}

cudaError_t give_pool(const char* call, cudaMemPool_t* pool, int device,
                      const std::array<cudaMemPool_t, kMaxDevices> Pools::*which) {
  return with_pools(call, [&](Pools& all) {
    api_require(pool != nullptr, cudaErrorInvalidValue, "the pointer to the pool is null");
    require_device(device);
    *pool = (all.*which)[static_cast<std::size_t>(device)];
  });
}

bool is_int(cudaMemPoolAttr attribute) { return attribute < cudaMemPoolAttrReleaseThreshold; }

void require_attribute(cudaMemPoolAttr attribute, const void* value) {
  api_require(value != nullptr && attribute >= cudaMemPoolReuseFollowEventDependencies &&
                  attribute <= cudaMemPoolAttrUsedMemHigh,
              cudaErrorInvalidValue, "the emulator does not know this attribute, or the pointer to its value is null");
}

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return give_pool("cudaDeviceGetDefaultMemPool", pool, device, &Pools::defaults);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return give_pool("cudaDeviceGetMemPool", pool, device, &Pools::current);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return with_pools("cudaDeviceSetMemPool", [&](Pools& all) {
    require_device(device);
    require_pool(all, pool);
    api_require(pool->device == device, cudaErrorInvalidValue, "the pool is of another device");
    all.current[static_cast<std::size_t>(device)] = pool;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return with_pools("cudaMemPoolCreate", [&](Pools& all) {
    api_require(pool != nullptr && properties != nullptr, cudaErrorInvalidValue, "an argument is null");
    api_require(
        properties->allocType == cudaMemAllocationTypePinned && properties->location.type == cudaMemLocationTypeDevice,
        cudaErrorInvalidValue, "a pool is of cudaMemAllocationTypePinned on a device");
    require_device(properties->location.id);
    auto made = std::make_unique<CUmemPoolHandle_st>();
    made->device = properties->location.id;
    *pool = made.get();
    all.all[*pool] = std::move(made);
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return with_pools("cudaMemPoolDestroy", [&](Pools& all) {
    require_pool(all, pool);
    const auto device = static_cast<std::size_t>(pool->device);
    api_require(pool != all.defaults[device], cudaErrorInvalidValue, "a device keeps its default pool");
    if (all.current[device] == pool) all.current[device] = all.defaults[device];
    all.all.erase(pool);
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return with_pools("cudaMemPoolSetAttribute", [&](Pools& all) {
    require_pool(all, pool);
    require_attribute(attribute, value);
    const bool is_high = attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh;
    api_require(attribute <= cudaMemPoolAttrReleaseThreshold || is_high, cudaErrorInvalidValue,
                "this attribute can only be read");
    if (!is_high) {
      pool->values[attribute] = is_int(attribute) ? static_cast<std::uint64_t>(*static_cast<int*>(value))
                                                  : *static_cast<std::uint64_t*>(value);
    }
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return with_pools("cudaMemPoolGetAttribute", [&](Pools& all) {
    require_pool(all, pool);
    require_attribute(attribute, value);
    const DeviceMemory& memory = DeviceMemory::instance();
    if (is_int(attribute)) {
      *static_cast<int*>(value) = static_cast<int>(pool->values.at(attribute));
    } else if (attribute == cudaMemPoolAttrReleaseThreshold) {
      *static_cast<std::uint64_t*>(value) = pool->values.at(attribute);
    } else {
      *static_cast<std::uint64_t*>(value) = memory.device_bytes() - memory.free_bytes(pool->device);
    }
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return with_pools("cudaMemPoolTrimTo", [&](const Pools& all) { require_pool(all, pool); });
}

namespace lockstep::emulator {

cudaError_t allocate_from_pool(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream,
                               SourcePlace place) {
  const cudaError_t error = with_pools("cudaMallocFromPoolAsync", [&](const Pools& all) {
    require_pool(all, pool);
    api_require(Handles::instance().queue(stream)->device == pool->device, cudaErrorInvalidValue,
                "the pool and the stream are of two devices");
  });
  return error != cudaSuccess ? error : allocate_device_async(pointer, bytes, stream, place);
}

cudaError_t advise(const void* pointer, size_t bytes) {
  return api_call("cudaMemAdvise", ApiNeeds::kWorkingDevice, [&] { require_inside(pointer, bytes); });
}

}  // namespace lockstep::emulator
