#include "emulator/cuda/lockstep_emulator/api_memory.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "emulator/checker/shadow.hpp"
#include "emulator/engine/device_memory.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/capture.hpp"
#include "emulator/runtime/graph_memory.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/host_memory.hpp"
#include "emulator/runtime/pools.hpp"
#include "emulator/runtime/reports.hpp"
#include "emulator/runtime/scheduler.hpp"
#include "emulator/runtime/transfer.hpp"

namespace lockstep::emulator {
namespace {

void* give(const Allocation* block, std::size_t bytes, int device) {
  if (block == nullptr) {
    throw ApiError{cudaErrorMemoryAllocation,
                   concat(bytes, " bytes asked for, ", DeviceMemory::instance().free_bytes(device), " of ",
                          DeviceMemory::instance().device_bytes(), " are free (LOCKSTEP_EMULATOR_MEMORY)")};
  }
  forget(block->begin, block->bytes);
  Scheduler::instance().allocated(block->begin, block->bytes);
  return block->begin;
}

void require_pointer(const void* pointer) {
  api_require(pointer != nullptr, cudaErrorInvalidValue, "the pointer to the result is null");
}

// Blocks for which a cudaFreeAsync has been issued and is not over.
struct PendingFrees {
  std::mutex mutex;
  std::set<const Allocation*> blocks;

  static PendingFrees& instance() {
    static PendingFrees& all = *new PendingFrees;  // executor threads may outlive the destructors of statics
    return all;
  }
};

// One of them, while its operation exists: a device that has failed skips it.
class PendingFree {
 public:
  explicit PendingFree(const Allocation& block) : block_(block) {
    PendingFrees& all = PendingFrees::instance();
    const std::scoped_lock lock(all.mutex);
    api_require(all.blocks.insert(&block).second, cudaErrorInvalidValue, kFreedAlready);
  }
  PendingFree(const PendingFree&) = delete;
  PendingFree& operator=(const PendingFree&) = delete;
  ~PendingFree() {
    PendingFrees& all = PendingFrees::instance();
    const std::scoped_lock lock(all.mutex);
    all.blocks.erase(&block_);
  }

  static constexpr const char* kFreedAlready = "a cudaFreeAsync for this memory has been issued already";

 private:
  const Allocation& block_;
};

const Allocation& require_live(const void* pointer) {
  const Allocation* block = DeviceMemory::instance().find(pointer);
  if (block == nullptr || block->begin != pointer || block->is_freed) {
    throw ApiError{cudaErrorInvalidValue,
                   concat("not the address of a live allocation: it is ", describe_address(pointer))};
  }
  PendingFrees& all = PendingFrees::instance();
  const std::scoped_lock lock(all.mutex);
  api_require(!all.blocks.contains(block), cudaErrorInvalidValue, PendingFree::kFreedAlready);
  return *block;
}

void free_block(const void* pointer) {
  const Allocation* block = DeviceMemory::instance().find(pointer);
  remove_from_pool(pointer);  // before another allocation can have the address
  if (block == nullptr || !DeviceMemory::instance().free(pointer))
    return;  // a double free is reported when it is issued
  // The checker forgets the bytes when they are reused, which may already have happened.
  if (block->is_managed) disallow_host_memory(block->begin);
}

const Allocation* allocate_when_possible(std::size_t bytes, int device, SourcePlace place) {
  const Allocation* block = DeviceMemory::instance().allocate(bytes, device, place);
  if (block != nullptr) return block;
  Scheduler::instance().wait_device(device);  // for pending cudaFreeAsync calls
  return DeviceMemory::instance().allocate(bytes, device, place);
}

}  // namespace

cudaError_t allocate_device(void** pointer, size_t bytes, SourcePlace place) {
  return api_call("cudaMalloc", ApiNeeds::kWorkingDevice, [&] {
    require_pointer(pointer);
    *pointer = nullptr;
    refuse_unsafe_call();
    if (bytes > 0) *pointer = give(allocate_when_possible(bytes, current_device(), place), bytes, current_device());
  });
}

void allocate_in_order(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream, SourcePlace place) {
  require_pointer(pointer);
  const auto queue = Handles::instance().queue(stream);
  const bool is_recorded = is_captured(*queue);
  if (!is_recorded) refuse_in_capture(*queue);  // of other streams, if this is the default stream
  const int device = pool == nullptr ? queue->device : device_of_pool(pool);
  *pointer = nullptr;
  if (bytes == 0) return;
  const Allocation* const block = allocate_when_possible(bytes, device, place);
  void* const begin = give(block, bytes, device);
  if (is_recorded) {
    record_allocation(queue, *block, place);  // CUDA Runtime API, cudaMallocAsync: the graph owns it, not the pool
  } else {
    add_to_pool(pool, *block);
  }
  *pointer = begin;
}

cudaError_t allocate_device_async(void** pointer, size_t bytes, cudaStream_t stream, SourcePlace place) {
  return api_call("cudaMallocAsync", ApiNeeds::kWorkingDevice,
                  [&] { allocate_in_order(pointer, bytes, nullptr, stream, place); });
}

cudaError_t allocate_managed(void** pointer, size_t bytes, unsigned int flags, SourcePlace place) {
  return api_call("cudaMallocManaged", ApiNeeds::kWorkingDevice, [&] {
    require_pointer(pointer);
    api_require(bytes > 0 && (flags == cudaMemAttachGlobal || flags == cudaMemAttachHost), cudaErrorInvalidValue,
                "0 bytes, or flags that are neither cudaMemAttachGlobal nor cudaMemAttachHost");
    refuse_unsafe_call();
    *pointer = give(DeviceMemory::instance().allocate_managed(bytes, current_device(), place), bytes, current_device());
    host_wrote(*pointer, bytes);  // writes by the host are not seen, so all of it counts as initialised
  });
}

cudaError_t allocate_host(void** pointer, size_t bytes, unsigned int flags) {
  return api_call("cudaMallocHost", ApiNeeds::kWorkingDevice, [&] {
    require_pointer(pointer);
    constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    api_require((flags & ~kKnown) == 0, cudaErrorInvalidValue, "an unknown flag is set");
    *pointer = nullptr;
    refuse_unsafe_call();
    if (bytes == 0) return;
    *pointer = HostMemory::instance().allocate(bytes, current_device(), flags);
    api_require(*pointer != nullptr, cudaErrorMemoryAllocation, "the host has too little memory");
    allow_host_memory(*pointer, bytes);
  });
}

}  // namespace lockstep::emulator

using namespace lockstep::emulator;

cudaError_t cudaFree(void* pointer) {
  return api_call("cudaFree", ApiNeeds::kWorkingDevice, [&] {
    if (pointer == nullptr) return;
    const Allocation& block = require_live(pointer);
    refuse_graph_memory(block);
    refuse_unsafe_call();
    Scheduler::instance().wait_device(block.device);
    throw_failure(current_device());
    free_block(pointer);
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream, SourcePlace place) {
  return api_call("cudaFreeAsync", ApiNeeds::kWorkingDevice, [&] {
    if (pointer == nullptr) return;
    const Allocation& block = require_live(pointer);
    const auto queue = Handles::instance().queue(stream);
    if (is_captured(*queue)) return record_free(queue, block, place);
    refuse_in_capture(*queue);  // of other streams, if this is the default stream
    refuse_graph_memory(block);
    Operation free;
    free.name = "cudaFreeAsync";
    free.place = place;
    free.accesses.push_back({static_cast<std::byte*>(pointer), block.bytes, true});
    free.run = [pointer, pending = std::make_shared<PendingFree>(block)] {
      free_block(pointer);
      return cudaSuccess;
    };
    Scheduler::instance().enqueue(queue, std::move(free));
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return api_call("cudaFreeHost", ApiNeeds::kWorkingDevice, [&] {
    if (pointer == nullptr) return;
    constexpr const char* kStranger = "not the address of live memory of cudaMallocHost or cudaHostAlloc";
    api_require(HostMemory::instance().is_allocated(pointer), cudaErrorInvalidValue, kStranger);
    refuse_unsafe_call();
    for (int device = 0; device < device_count(); ++device) Scheduler::instance().wait_device(device);
    disallow_host_memory(pointer);  // before another allocation can have the address
    api_require(HostMemory::instance().free(pointer), cudaErrorInvalidValue, kStranger);
  });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return api_call("cudaHostRegister", ApiNeeds::kWorkingDevice, [&] {
    constexpr unsigned kKnown = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;
    api_require(pointer != nullptr && bytes > 0 && (flags & ~kKnown) == 0, cudaErrorInvalidValue,
                "the address is null, there are 0 bytes, or an unknown flag is set");
    api_require(bytes <= ~std::uintptr_t{0} - reinterpret_cast<std::uintptr_t>(pointer), cudaErrorInvalidValue,
                "the bytes reach beyond all addresses: is their number negative?");
    refuse_unsafe_call();
    api_require(HostMemory::instance().add_registered(pointer, bytes, current_device(), flags),
                cudaErrorHostMemoryAlreadyRegistered, "a part of this memory is pinned already");
    allow_host_memory(pointer, bytes);
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return api_call("cudaHostUnregister", ApiNeeds::kWorkingDevice, [&] {
    constexpr const char* kStranger = "not the address of registered memory";
    api_require(HostMemory::instance().is_registered(pointer), cudaErrorHostMemoryNotRegistered, kStranger);
    refuse_unsafe_call();
    disallow_host_memory(pointer);  // before it can be registered again
    api_require(HostMemory::instance().remove_registered(pointer), cudaErrorHostMemoryNotRegistered, kStranger);
  });
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int flags) {
  return api_call("cudaHostGetDevicePointer", ApiNeeds::kWorkingDevice, [&] {
    require_pointer(device_pointer);
    api_require(flags == 0 && HostMemory::instance().find(host_pointer), cudaErrorInvalidValue,
                "the memory is not pinned, or flags are not 0");
    *device_pointer = host_pointer;
  });
}

cudaError_t cudaHostGetFlags(unsigned int* flags, void* host_pointer) {
  return api_call("cudaHostGetFlags", ApiNeeds::kWorkingDevice, [&] {
    require_pointer(flags);
    const auto pinned = HostMemory::instance().find(host_pointer);
    api_require(pinned.has_value(), cudaErrorInvalidValue, "the memory is not pinned");
    *flags = pinned->flags | cudaHostAllocMapped;  // with unified addressing all pinned memory is mapped
  });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return api_call("cudaMemGetInfo", ApiNeeds::kWorkingDevice, [&] {
    if (free_bytes != nullptr) *free_bytes = DeviceMemory::instance().free_bytes(current_device());
    if (total_bytes != nullptr) *total_bytes = DeviceMemory::instance().device_bytes();
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return api_call("cudaPointerGetAttributes", ApiNeeds::kDevice, [&] {
    require_pointer(attributes);
    auto* address = const_cast<void*>(pointer);
    const int device = device_of(pointer);
    const MemoryPlace place = place_of(pointer);
    if (place == MemoryPlace::kManaged && device >= 0) {
      *attributes = {cudaMemoryTypeManaged, device, address, address};
    } else if (place == MemoryPlace::kDevice && device >= 0) {
      *attributes = {cudaMemoryTypeDevice, device, address, nullptr};
    } else if (const auto pinned = HostMemory::instance().find(pointer)) {
      *attributes = {cudaMemoryTypeHost, pinned->device, address, address};
    } else {
      *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
    }
  });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int, cudaStream_t) {
  return api_call("cudaMemPrefetchAsync", ApiNeeds::kWorkingDevice, [&] { require_inside(pointer, bytes); });
}
