#pragma once
/// @file
/// Room in the heap for the buffers in which oneDNN packs operands. Private to the module.
///
/// A float32 product of oneDNN (2.6 and 3: "gemm:jit") copies its operands, block by block, to a buffer that it takes
/// with posix_memalign and frees in the same call; it has no scratchpad (`scratchpad_desc()` is empty), so the caller
/// cannot supply the buffer. glibc's defaults make such a buffer expensive in one of two ways. If it is mapped, its
/// pages are new in each product: a page fault for each 4 KiB (measured: a quarter of a training step on one thread).
/// If it comes from the heap, small objects settle in the hole that it leaves, the next buffer no longer fits, and the
/// heap grows (measured: 66 MiB a rank). So the module also defines posix_memalign() for the whole program, see the
/// source.
#include <cstddef>

namespace lockstep::kernels {

/// Each thread that multiplies keeps a block of heap memory that it never touches. While a PackingRoom lives the block
/// is free, so the product's buffer takes its place; afterwards the thread takes it back, so nothing else can. The
/// pages stay, and only as many are touched as the largest product needs. Does nothing with other C libraries than
/// glibc, and under sanitizers, which replace its allocator.
class PackingRoom {
 public:
  /// Larger than any buffer of oneDNN's, whose blocks of operands have a largest size (seen: up to 17 MiB, of a
  /// 50257-wide head on two threads). glibc maps blocks of 32 MiB and more whatever it is told.
  static constexpr std::size_t kBytes = std::size_t{31} << 20;

  /// @throws Error  No memory for the block: oneDNN would have none either.
  PackingRoom();
  /// If there is no memory to take the block back, the next PackingRoom tries again.
  ~PackingRoom();
  PackingRoom(const PackingRoom&) = delete;
  PackingRoom& operator=(const PackingRoom&) = delete;
};

}  // namespace lockstep::kernels
