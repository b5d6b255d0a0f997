#include "kernels/cpu/packing_room.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <malloc.h>
#define LOCKSTEP_KEEPS_PACKING_ROOM
#endif

namespace lockstep::kernels {

#ifdef LOCKSTEP_KEEPS_PACKING_ROOM

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostBefore = 16 * kPage;  // of a thread's block: never touched

bool begins_a_page(const void* memory) noexcept { return reinterpret_cast<std::uintptr_t>(memory) % kPage == 0; }

/// A thread's block; empty while a product uses its memory, and before the first one.
class Block {
 public:
  Block() { (void)use_heap_; }
  ~Block() {
    give_up();
    std::free(neighbour_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Takes the old place again, if all of it is free.
  bool take() noexcept {
    if (memory_ == nullptr) memory_ = std::malloc(PackingRoom::kBytes);
    if (!begins_a_page(memory_)) settle();
    return memory_ != nullptr;
  }
  void give_up() noexcept {
    std::free(memory_);
    memory_ = nullptr;
  }

 private:
  // Moves to a place that begins a page, behind a neighbour that stays. With free memory before it, the place would
  // begin earlier once it is free, and with little of that memory no page would begin where a block of this size fits:
  // memalign() frees what it cuts off in front, and from glibc 2.41 on even small pieces join what is free behind them.
  void settle() noexcept {
    give_up();
    std::free(neighbour_);
    neighbour_ = nullptr;
    void* const room = std::malloc(PackingRoom::kBytes + 2 * kMostBefore);
    const auto place = reinterpret_cast<std::uintptr_t>(room);
    std::free(room);
    neighbour_ = block_at(place, kMostBefore - place % kPage);
    memory_ = std::malloc(PackingRoom::kBytes);
    if (begins_a_page(memory_)) return;
    std::free(memory_);
    memory_ = ::memalign(kPage, PackingRoom::kBytes);
  }

  // A block from there to `bytes` behind it, if the heap has that to give; fills smaller holes that come first.
  static void* block_at(std::uintptr_t place, std::size_t bytes) noexcept {
    constexpr std::size_t kHeader = sizeof(std::size_t);  // before each block
    std::array<void*, 16> tries{};
    void* found = nullptr;
    for (void*& one : tries) {
      one = std::malloc(bytes - kHeader);
      if (reinterpret_cast<std::uintptr_t>(one) != place) continue;
      found = std::exchange(one, nullptr);
      break;
    }
    for (void* const other : tries) std::free(other);
    return found;
  }

  // Keeps blocks of this size on the heap, and keeps the heap's end from being returned when it is free. For the whole
  // process, because threads of OpenMP's pool pack as well: nothing else uses their parts of the heap.
  static bool use_heap() noexcept {
    constexpr int kLargestFromHeap = 32 << 20, kFreeEnd = 256 << 20;
    return ::mallopt(M_MMAP_THRESHOLD, kLargestFromHeap) == 1 && ::mallopt(M_TRIM_THRESHOLD, kFreeEnd) == 1;
  }
  inline static const bool use_heap_ = use_heap();

  void* memory_ = nullptr;
  void* neighbour_ = nullptr;  // keeps what lies before the place
};

Block& block_of_thread() {
  thread_local Block block;
  return block;
}

}  // namespace

PackingRoom::PackingRoom() {
  Block& block = block_of_thread();
  if (!block.take())
    throw Error(concat("out of memory: no ", kBytes >> 20, " MiB for the packed operands of a matrix product"));
  block.give_up();
}

PackingRoom::~PackingRoom() { block_of_thread().take(); }

}  // namespace lockstep::kernels

/// Replaces the C library's function, for oneDNN: a large block begins on a page, even if less alignment is requested.
/// glibc allocates some extra and frees the pieces before and after the block. With oneDNN's alignment of 128 bytes
/// these pieces are so small that they go to the thread's cache, and the next small object is placed in one of them.
/// That object then splits the room, which is never whole again (measured: each buffer in new pages, 4299 faults a
/// step). With a page's alignment there is no piece before the block, because the room begins on a page, and the piece
/// after it joins the rest of the room.
extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  constexpr std::size_t kLarge = std::size_t{256} << 10;
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;  // the latter: a power of 2
  const int errno_before = errno;
  void* const found =
      ::memalign(bytes >= kLarge && alignment < lockstep::kernels::kPage ? lockstep::kernels::kPage : alignment, bytes);
  errno = errno_before;
  if (found == nullptr) return ENOMEM;
  *memory = found;
  return 0;
}

namespace lockstep::kernels {

#else

PackingRoom::PackingRoom() = default;
PackingRoom::~PackingRoom() = default;

#endif

}  // namespace lockstep::kernels
