#include "kernels/cpu/packing_room.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <malloc.h>
#define LOCKSTEP_KEEPS_PACKING_ROOM
#endif

namespace lockstep::kernels {

#ifdef LOCKSTEP_KEEPS_PACKING_ROOM

namespace {

constexpr std::size_t kPage = 4096;

bool begins_a_page(const void* memory) noexcept { return reinterpret_cast<std::uintptr_t>(memory) % kPage == 0; }

/// A thread's block; empty while a product uses its place, and before the first one.
class Block {
 public:
  Block() { (void)use_heap_; }
  ~Block() { give_up(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Where it was, if that is free as a whole.
  bool take() noexcept {
    if (memory_ == nullptr) memory_ = std::malloc(PackingRoom::kBytes);
    if (!begins_a_page(memory_)) {
      std::free(memory_);
      memory_ = ::memalign(kPage, PackingRoom::kBytes);
    }
    return memory_ != nullptr;
  }
  void give_up() noexcept {
    std::free(memory_);
    memory_ = nullptr;
  }

 private:
  // Blocks of this size come from the heap, and its end is not given back each time that it is free. For the whole
  // process, because threads of OpenMP's pool pack as well: nothing else uses their parts of the heap.
  static bool use_heap() noexcept {
    constexpr int kLargestFromHeap = 32 << 20, kFreeEnd = 256 << 20;
    return ::mallopt(M_MMAP_THRESHOLD, kLargestFromHeap) == 1 && ::mallopt(M_TRIM_THRESHOLD, kFreeEnd) == 1;
  }
  inline static const bool use_heap_ = use_heap();

  void* memory_ = nullptr;
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

/// In place of the C library's, for oneDNN: a large block begins a page, whatever smaller alignment is asked for. glibc
/// takes the block with room to spare and gives back what is in front of it and behind it. With oneDNN's alignment of
/// 128 bytes these pieces are so small that they go to the thread's cache, and the next small object is put into one of
/// them. That object then lies in the middle of the room, which is never whole again (measured: each buffer in new
/// pages, 4299 faults a step). With a page's alignment there is no piece in front, because the room begins a page, and
/// one behind that joins the rest of the room.
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
