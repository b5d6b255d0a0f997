#include "device/copy.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "device/cuda_check.hpp"
#include "device/storage.hpp"

namespace lockstep {

namespace {

// Size of a staging chunk. Two are in flight: the host copies one while the device copies the other.
constexpr std::size_t kChunkBytes = std::size_t{4} << 20;

std::byte* at(const Place& place, std::size_t offset) { return static_cast<std::byte*>(place.data) + offset; }

// The call returns while the last two chunks are still being copied: record_use() keeps their staging.
void copy_to_device(const Place& to, const void* from, std::size_t bytes) {
  struct Chunk {
    std::shared_ptr<Storage> staging;
    Event sent;
  };
  const Stream& stream = current_stream(to.device);
  std::deque<Chunk> chunks;
  for (std::size_t offset = 0; offset < bytes; offset += kChunkBytes) {
    const std::size_t count = std::min(kChunkBytes, bytes - offset);
    if (chunks.size() < 2) {
      chunks.push_back({Storage::allocate_pinned(std::min(kChunkBytes, bytes), to.device), Event(to.device)});
    } else {
      chunks.front().sent.synchronize();
      chunks.push_back(std::move(chunks.front()));
      chunks.pop_front();
    }
    std::memcpy(chunks.back().staging->data(), static_cast<const std::byte*>(from) + offset, count);
    copy_memory_async(at(to, offset), chunks.back().staging->data(), count, stream);
    chunks.back().sent.record(stream);
  }
  for (const Chunk& chunk : chunks) chunk.staging->record_use(stream);
}

void copy_to_host(void* to, const Place& from, std::size_t bytes) {
  struct Chunk {
    std::size_t offset, count;
    std::shared_ptr<Storage> staging;
    Event arrived;
  };
  const Stream& stream = current_stream(from.device);
  std::deque<Chunk> chunks;
  const auto take_first = [&] {
    chunks.front().arrived.synchronize();
    std::memcpy(static_cast<std::byte*>(to) + chunks.front().offset, chunks.front().staging->data(),
                chunks.front().count);
    chunks.pop_front();
  };
  for (std::size_t offset = 0; offset < bytes; offset += kChunkBytes) {
    const std::size_t count = std::min(kChunkBytes, bytes - offset);
    chunks.push_back({offset, count, Storage::allocate_pinned(count, from.device), Event(from.device)});
    copy_memory_async(chunks.back().staging->data(), at(from, offset), count, stream);
    if (offset + count < bytes) chunks.back().staging->record_use(stream);  // if the next chunk finds no memory
    chunks.back().arrived.record(stream);
    if (chunks.size() == 2) take_first();
  }
  while (!chunks.empty()) take_first();
}

// Both devices' current streams take part: the copy waits for the work that produced the source, and readers of the
// copy wait for the copy.
void copy_between_devices(const Place& to, const Place& from, std::size_t bytes) {
  const Stream &source = current_stream(from.device), &destination = current_stream(to.device);
  source.wait(destination);  // readers of the destination's old contents
  make_current(from.device);
  cuda_check(cudaMemcpyPeerAsync(to.data, to.device.index, from.data, from.device.index, bytes, source.handle()),
             "copying between devices");
  destination.wait(source);
}

}  // namespace

void copy_memory(const Place& to, const Place& from, std::size_t bytes) {
  if (bytes == 0 || (to.data == from.data && to.device == from.device)) return;
  if (to.device.is_cpu() && from.device.is_cpu()) {
    std::memmove(to.data, from.data, bytes);
  } else if (from.device.is_cpu()) {
    copy_to_device(to, from.data, bytes);
  } else if (to.device.is_cpu()) {
    copy_to_host(to.data, from, bytes);
  } else if (to.device == from.device) {
    copy_memory_async(to.data, from.data, bytes, current_stream(to.device));
  } else {
    copy_between_devices(to, from, bytes);
  }
}

void copy_memory_async(void* to, const void* from, std::size_t bytes, const Stream& stream) {
  if (bytes == 0) return;
  require(!stream.device().is_cpu(), "copy_memory_async() needs a device's stream");
  make_current(stream.device());
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.handle()), "copying memory");
}

void zero_memory(const Place& to, std::size_t bytes) {
  if (bytes == 0) return;
  if (to.device.is_cpu()) {
    std::memset(to.data, 0, bytes);
    return;
  }
  make_current(to.device);
  cuda_check(cudaMemsetAsync(to.data, 0, bytes, current_stream(to.device).handle()), "setting memory to 0");
}

}  // namespace lockstep
