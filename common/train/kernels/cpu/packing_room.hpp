#pragma once
/// @file
/// Heap memory for the buffers in which oneDNN packs operands. Internal to this module.
///
/// A float32 product of oneDNN (2.6 and 3: "gemm:jit") copies its operands, block by block, to a buffer that it
/// allocates with posix_memalign and frees in the same call; it has no scratchpad (`scratchpad_desc()` is empty), so
/// the caller cannot supply the buffer. glibc's defaults make such a buffer expensive in one of two ways. If it is
/// mapped, its pages are new in each product: a page fault for each 4 KiB (measured: a quarter of a training step on
/// one thread). If it comes from the heap, small objects are placed in the hole that it leaves, the next buffer no
/// longer fits, and the heap grows (measured: 66 MiB a rank). So the module also defines posix_memalign() for the whole
/// program, see the source.
#include <cstddef>

namespace lockstep::kernels {

/// Each thread that multiplies holds a block of heap memory that it never touches. While a PackingRoom lives, the block
/// is free, so the product's buffer can use it; afterwards the thread takes it back, so that nothing else can. The
/// pages stay, and only as many are touched as the largest product needs. Does nothing with other C libraries than
/// glibc, and under sanitizers, which replace its allocator.
class PackingRoom {
 public:
  /// Larger than any buffer of oneDNN, whose blocks of operands have a largest size (seen: up to 17 MiB, for a
  /// 50257-wide head on two threads). glibc always maps blocks of 32 MiB and more.
  static constexpr std::size_t kBytes = std::size_t{31} << 20;

  /// @throws Error  No memory for the block: oneDNN would have none either.
  PackingRoom();
  /// If the block cannot be taken back, the next PackingRoom tries again.
  ~PackingRoom();
  PackingRoom(const PackingRoom&) = delete;
  PackingRoom& operator=(const PackingRoom&) = delete;
};

}  // namespace lockstep::kernels
