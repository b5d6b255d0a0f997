#include "device/device_allocator.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/round_up.hpp"
#include "device/cuda_check.hpp"

namespace lockstep {

namespace {

bool is_set(const char* name) { return environment::get(name).value_or("0") != "0"; }

// The allocators of this process. Never destroyed: storage and streams may outlive static objects.
struct Registry {
  std::mutex mutex;
  std::map<std::pair<int, DeviceAllocator::Kind>, DeviceAllocator> allocators;

  static Registry& instance() {
    static Registry& registry = *new Registry;
    return registry;
  }
};

}  // namespace

DeviceAllocator& DeviceAllocator::of(Device device, Kind kind) {
  device.require_available();
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  return registry.allocators.try_emplace({device.index, kind}, device, kind).first->second;
}

void DeviceAllocator::stream_ends(const Stream& stream) noexcept {
  try {
    Registry& registry = Registry::instance();
    const std::lock_guard lock(registry.mutex);
    const auto found = registry.allocators.find({stream.device().index, Kind::kDevice});
    if (found != registry.allocators.end()) found->second.inherit_from(stream);
  } catch (const CudaError& error) {  // its blocks keep an id that no stream will have again, so they are never reused
    cuda_log(error.status(), "handing over the memory of a stream that ends");
  }
}

DeviceAllocator::DeviceAllocator(Device device, Kind kind)
    : device_(device),
      kind_(kind),
      is_caching_(!is_set("LOCKSTEP_EMULATOR_CHECK") && !is_set("LOCKSTEP_NO_MEMORY_CACHE")) {}

std::size_t DeviceAllocator::block_bytes(std::size_t bytes) const noexcept {
  if (!is_caching_) return std::max<std::size_t>(bytes, 1);
  if (bytes <= kAlignment) return kAlignment;
  return round_up(bytes, std::max(std::bit_floor(bytes) / 8, kAlignment));  // eight size classes per power of two
}

std::byte* DeviceAllocator::allocate(std::size_t bytes, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  limit_.require_possible(bytes, statistics_.bytes_in_use, device_);
  const Key key{kind_ == Kind::kPinned ? kAnyStream : stream.id(), block_bytes(bytes)};
  limit_.require_room(bytes, key.second, statistics_.bytes_in_use, device_);
  recycle_finished();
  make_current(device_);  // the events were asked on their own devices
  std::byte* block = take_cached(key);
  if (block == nullptr) block = take_cached({kAnyStream, key.second});
  if (block == nullptr) block = take_new(key.second);
  in_use_.emplace(block, Block{block, key.second, key.first});
  statistics_.bytes_in_use += key.second;
  statistics_.peak_bytes_in_use = std::max(statistics_.peak_bytes_in_use, statistics_.bytes_in_use);
  return block;
}

std::byte* DeviceAllocator::take_cached(const Key& key) {
  const auto blocks = free_.find(key);
  if (blocks == free_.end() || blocks->second.empty()) return nullptr;
  std::byte* const block = blocks->second.back();
  blocks->second.pop_back();
  statistics_.bytes_cached -= key.second;
  return block;
}

std::byte* DeviceAllocator::take_new(std::size_t bytes) {
  if (!is_caching_ || bytes >= kLargeBytes) return ask_cuda(bytes);
  if (chunk_used_ + bytes > kChunkBytes) {
    chunk_ = ask_cuda(kChunkBytes);
    chunk_used_ = 0;
  }
  return chunk_ + std::exchange(chunk_used_, chunk_used_ + bytes);
}

std::byte* DeviceAllocator::ask_cuda(std::size_t bytes) {
  const auto ask = [&](void** data) {
    return kind_ == Kind::kDevice ? cudaMalloc(data, bytes) : cudaHostAlloc(data, bytes, cudaHostAllocPortable);
  };
  void* data = nullptr;
  cudaError_t status = ask(&data);
  if (status == cudaErrorMemoryAllocation) {  // freeing cached blocks of other sizes may make room
    cudaGetLastError();
    synchronize(device_);
    recycle_finished();
    release_cached_blocks();
    make_current(device_);
    status = ask(&data);
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemoryError(
        out_of_memory_message(device_, limit_.who, bytes, concat(statistics_.bytes_in_use, " are in use")));
  }
  cuda_check(status, concat("allocating ", bytes, " bytes on ", device_.name()));
  ++statistics_.system_allocations;
  return static_cast<std::byte*>(data);
}

void DeviceAllocator::record_use(std::byte* block, const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const auto found = in_use_.find(block);
  require(found != in_use_.end(), "record_use() of memory that this allocator has not handed out");
  Block& used = found->second;
  // The stream's order protects the block. (The default streams of all devices have one number.)
  if (used.stream == stream.id() && stream.device() == device_) return;
  const auto is_of_stream = [&](const Use& use) { return use.device == stream.device() && use.stream == stream.id(); };
  const auto known = std::ranges::find_if(used.uses, is_of_stream);
  if (known != used.uses.end()) return known->end->record(stream);  // its earlier work is over before
  const auto end = std::make_shared<Event>(stream.device());
  end->record(stream);
  used.uses.push_back({stream.device(), stream.id(), end});
}

// Blocks in use keep their owners; this stream's work on them counts as another stream's use.
void DeviceAllocator::inherit_from(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const auto first = free_.lower_bound({stream.id(), 0}), last = free_.lower_bound({stream.id() + 1, 0});
  std::vector<Block*> kept;
  for (auto& [data, block] : in_use_) {
    if (block.stream == stream.id()) kept.push_back(&block);
  }
  for (Block& block : waiting_) {
    if (block.stream == stream.id()) kept.push_back(&block);
  }
  if (first == last && kept.empty()) return;
  const auto end = std::make_shared<Event>(device_);
  end->record(stream);
  for (Block* const block : kept) {
    block->stream = kAnyStream;
    block->uses.push_back({device_, stream.id(), end});
  }
  for (auto blocks = first; blocks != last; ++blocks) {
    for (std::byte* const data : blocks->second) {
      waiting_.push_back({data, blocks->first.second, kAnyStream, {{device_, stream.id(), end}}});
    }
  }
  free_.erase(first, last);
}

void DeviceAllocator::release(std::byte* data) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = in_use_.find(data);
  if (found == in_use_.end()) return;
  Block block = std::move(found->second);
  in_use_.erase(found);
  statistics_.bytes_in_use -= block.bytes;
  if (!is_caching_) return give_back_to_cuda(block);
  statistics_.bytes_cached += block.bytes;
  block.uses.empty() ? keep(std::move(block)) : waiting_.push_back(std::move(block));
}

void DeviceAllocator::keep(Block block) { free_[{block.stream, block.bytes}].push_back(block.data); }

void DeviceAllocator::recycle_finished() {
  const auto is_free = [](const Block& block) {
    return std::ranges::all_of(block.uses, [](const Use& use) { return use.end->is_complete(); });
  };
  // Not std::ranges::stable_partition: clang 14 does not compile the one of g++ 12.
  const auto first_free = std::stable_partition(waiting_.begin(), waiting_.end(), std::not_fn(is_free));
  std::for_each(first_free, waiting_.end(), [this](Block& block) { keep(std::move(block)); });
  waiting_.erase(first_free, waiting_.end());
}

void DeviceAllocator::give_back_to_cuda(const Block& block) noexcept {
  try {
    for (const Use& use : block.uses) use.end->synchronize();
  } catch (const CudaError& error) {
    cuda_log(error.status(), "waiting for what uses freed memory");
  }
  // Both calls wait until the device is done with the memory.
  cuda_log(kind_ == Kind::kDevice ? cudaFree(block.data) : cudaFreeHost(block.data), "freeing memory");
}

void DeviceAllocator::set_limit(MemoryLimit limit) {
  const std::lock_guard lock(mutex_);
  limit_ = std::move(limit);
}

AllocatorStatistics DeviceAllocator::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void DeviceAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  statistics_.peak_bytes_in_use = statistics_.bytes_in_use;
}

void DeviceAllocator::release_cached() {
  const std::lock_guard lock(mutex_);
  recycle_finished();
  make_current(device_);
  release_cached_blocks();
}

void DeviceAllocator::release_cached_blocks() {
  for (auto& [key, blocks] : free_) {
    if (key.second < kLargeBytes) continue;  // part of a chunk
    for (std::byte* const block : blocks) give_back_to_cuda({block, key.second, key.first});
    statistics_.bytes_cached -= key.second * blocks.size();
    blocks.clear();
  }
}

}  // namespace lockstep
