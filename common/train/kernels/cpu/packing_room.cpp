#include "kernels/cpu/packing_room.hpp"

#include <cstdlib>

#include "base/error.hpp"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <malloc.h>
#define LOCKSTEP_KEEPS_PACKING_ROOM
#endif

namespace lockstep::kernels {

#ifdef LOCKSTEP_KEEPS_PACKING_ROOM

namespace {

/// A thread's block; empty while a product uses its place, and before the first one.
class Block {
 public:
  Block() { (void)use_heap_; }
  ~Block() { give_up(); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  bool take() noexcept {
    if (memory_ == nullptr) memory_ = std::malloc(PackingRoom::kBytes);
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

#else

PackingRoom::PackingRoom() = default;
PackingRoom::~PackingRoom() = default;

#endif

}  // namespace lockstep::kernels
