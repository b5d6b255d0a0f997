#include "emulated_nccl/staging.hpp"

#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "emulated_nccl/failure.hpp"

namespace lockstep::emulated_nccl {
namespace {

constexpr std::size_t kSmallestRoom = 4096;
constexpr std::align_val_t kPage{4096};

// Blocks whose copies may still run return to their stream, whose next copies are ordered after those; all others serve
// any stream of the device, so that streams that come and go share them. They are never freed, because unpinning would
// have to wait for every stream of the process, including hung ones.
struct Pool {
  std::byte* take(int device, std::optional<cudaStream_t> stream, std::size_t room) {
    const std::scoped_lock lock(mutex);
    auto found = unused.find({device, stream, room});
    if (found == unused.end()) return nullptr;
    std::byte* const memory = found->second.back();
    found->second.pop_back();
    if (found->second.empty()) unused.erase(found);
    return memory;
  }

  std::mutex mutex;
  std::map<std::tuple<int, std::optional<cudaStream_t>, std::size_t>, std::vector<std::byte*>> unused;  // never empty
};

Pool& pool() {
  static auto* const kept = new Pool;
  return *kept;
}

std::byte* new_block(std::size_t room) { return static_cast<std::byte*>(::operator new(room, kPage)); }

// Pins a new block, or one that cudaDeviceReset() has unpinned. Frees it if that fails. Memory that is registered as
// pinned, not allocated as pinned, stays accessible to host functions in checked mode.
void pin(std::byte* memory, std::size_t room) {
  cudaPointerAttributes attributes{};
  if (succeeds(cudaPointerGetAttributes(&attributes, memory)) && attributes.type == cudaMemoryTypeHost) return;
  const cudaError_t pinned = cudaHostRegister(memory, room, cudaHostRegisterPortable);
  if (pinned != cudaSuccess) ::operator delete(memory, kPage);
  cuda_require(pinned, "pinning host memory");
}

}  // namespace

Staging::Staging(int device, cudaStream_t stream, std::size_t bytes)
    : device_(device), stream_(stream), room_(std::bit_ceil(bytes < kSmallestRoom ? kSmallestRoom : bytes)) {
  std::byte* memory = pool().take(device, stream, room_);
  if (memory == nullptr) memory = pool().take(device, std::nullopt, room_);
  if (memory == nullptr) memory = new_block(room_);
  pin(memory, room_);
  bytes_ = {memory, bytes};
}

Staging::Staging(Staging&& other) noexcept { *this = std::move(other); }

Staging& Staging::operator=(Staging&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  std::swap(bytes_, other.bytes_);
  std::swap(room_, other.room_);
  return *this;
}

Staging::~Staging() {
  if (bytes_.data() == nullptr) return;
  const std::scoped_lock lock(pool().mutex);
  pool().unused[{device_, stream_, room_}].push_back(bytes_.data());
}

}  // namespace lockstep::emulated_nccl
