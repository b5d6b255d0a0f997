#include "emulator/cuda/lockstep_emulator/api_pools.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "emulator/engine/device_memory.hpp"
#include "emulator/engine/settings.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/pools.hpp"
#include "emulator/runtime/transfer.hpp"

// A pool: a device, the bytes in use, and the values that a program has set.
struct CUmemPoolHandle_st {
  int device = 0;
  std::uint64_t used = 0;
  std::uint64_t most_used = 0, most_reserved = 0;  // since the program last reset each
  std::map<cudaMemPoolAttr, std::uint64_t> values{{cudaMemPoolReuseFollowEventDependencies, 1},
                                                  {cudaMemPoolReuseAllowOpportunistic, 1},
                                                  {cudaMemPoolReuseAllowInternalDependencies, 1},
                                                  {cudaMemPoolAttrReleaseThreshold, 0}};
};

namespace {

using namespace lockstep::emulator;

struct PooledBlock {
  cudaMemPool_t pool = nullptr;
  std::size_t bytes = 0;
};

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
  std::map<const void*, PooledBlock> blocks;  // in use
};

Pools& pools() {
  static auto* const kPools = new Pools;  // NOLINT: never destroyed: other threads may call at exit
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
bool is_high(cudaMemPoolAttr attribute) {
  return attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh;
}

std::uint64_t& most(CUmemPoolHandle_st& pool, cudaMemPoolAttr attribute) {
  return attribute == cudaMemPoolAttrUsedMemHigh ? pool.most_used : pool.most_reserved;
}

void require_attribute(cudaMemPoolAttr attribute, const void* value) {
  api_require(value != nullptr && attribute >= cudaMemPoolReuseFollowEventDependencies &&
                  attribute <= cudaMemPoolAttrUsedMemHigh,
              cudaErrorInvalidValue,
              "the emulator does not support this attribute, or the pointer to its value is null");
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
    api_require(pool->device == device, cudaErrorInvalidValue, "the pool belongs to another device");
    all.current[static_cast<std::size_t>(device)] = pool;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return with_pools("cudaMemPoolCreate", [&](Pools& all) {
    api_require(pool != nullptr && properties != nullptr, cudaErrorInvalidValue, "an argument is null");
    api_require(
        properties->allocType == cudaMemAllocationTypePinned && properties->location.type == cudaMemLocationTypeDevice,
        cudaErrorInvalidValue, "a pool must have the type cudaMemAllocationTypePinned and be on a device");
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
    api_require(pool != all.defaults[device], cudaErrorInvalidValue, "a device's default pool cannot be destroyed");
    if (all.current[device] == pool) all.current[device] = all.defaults[device];
    std::erase_if(all.blocks, [pool](const auto& block) { return block.second.pool == pool; });
    all.all.erase(pool);
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return with_pools("cudaMemPoolSetAttribute", [&](Pools& all) {
    require_pool(all, pool);
    require_attribute(attribute, value);
    api_require(attribute <= cudaMemPoolAttrReleaseThreshold || is_high(attribute), cudaErrorInvalidValue,
                "this attribute can only be read");
    const std::uint64_t number =
        is_int(attribute) ? static_cast<std::uint64_t>(*static_cast<int*>(value)) : *static_cast<std::uint64_t*>(value);
    if (!is_high(attribute)) {
      pool->values[attribute] = number;
      return;
    }
    api_require(number == 0, cudaErrorInvalidValue, "a high-water mark can only be set to 0, which resets it");
    most(*pool, attribute) = pool->used;
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return with_pools("cudaMemPoolGetAttribute", [&](Pools& all) {
    require_pool(all, pool);
    require_attribute(attribute, value);
    if (is_int(attribute)) {
      *static_cast<int*>(value) = static_cast<int>(pool->values.at(attribute));
    } else if (attribute == cudaMemPoolAttrReleaseThreshold) {
      *static_cast<std::uint64_t*>(value) = pool->values.at(attribute);
    } else {
      *static_cast<std::uint64_t*>(value) = is_high(attribute) ? most(*pool, attribute) : pool->used;
    }
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  return with_pools("cudaMemPoolTrimTo", [&](const Pools& all) { require_pool(all, pool); });
}

namespace lockstep::emulator {

int device_of_pool(cudaMemPool_t pool) {
  const std::scoped_lock lock(pools().mutex);
  require_pool(pools(), pool);
  return pool->device;
}

void add_to_pool(cudaMemPool_t pool, const Allocation& block) {
  const std::scoped_lock lock(pools().mutex);
  if (pool == nullptr) pool = pools().current[static_cast<std::size_t>(block.device)];
  require_pool(pools(), pool);
  pools().blocks[block.begin] = {pool, block.bytes};
  pool->used += block.bytes;
  pool->most_used = std::max(pool->most_used, pool->used);
  pool->most_reserved = std::max(pool->most_reserved, pool->used);
}

void remove_from_pool(const void* block) {
  const std::scoped_lock lock(pools().mutex);
  const auto found = pools().blocks.find(block);
  if (found == pools().blocks.end()) return;
  found->second.pool->used -= found->second.bytes;
  pools().blocks.erase(found);
}

void reset_pools(int device) {
  const std::scoped_lock lock(pools().mutex);
  const auto index = static_cast<std::size_t>(device);
  pools().current[index] = pools().defaults[index];
  std::erase_if(pools().blocks, [device](const auto& block) { return block.second.pool->device == device; });
  for (const auto& [handle, pool] : pools().all) {
    if (pool->device == device) pool->used = pool->most_used = pool->most_reserved = 0;
  }
}

cudaError_t allocate_from_pool(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream,
                               SourcePlace place) {
  return api_call("cudaMallocFromPoolAsync", ApiNeeds::kWorkingDevice, [&] {
    api_require(pool != nullptr, cudaErrorInvalidValue, "the pool is null");
    allocate_in_order(pointer, bytes, pool, stream, place);
  });
}

cudaError_t advise(const void* pointer, size_t bytes) {
  return api_call("cudaMemAdvise", ApiNeeds::kWorkingDevice, [&] { require_inside(pointer, bytes); });
}

}  // namespace lockstep::emulator
