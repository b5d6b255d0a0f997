#pragma once
/// @file
/// Products that a warpgroup starts and waits for (wgmma).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/engine/block_threads.hpp"
#include "emulator/engine/running_kernel.hpp"
#include "emulator/engine/swizzled_tile.hpp"

namespace lockstep::emulator {

/// The unfinished products of the running block's threads. Each thread computes its own part of a product when it waits
/// for it: a tile that is overwritten earlier gives a wrong result, and sums that are used earlier are NaN.
class WarpgroupProducts {
 public:
  static constexpr std::size_t kSums = 64, kRowsOfA = 64, kRowsOfB = 128;

  /// Both must outlive this.
  WarpgroupProducts(RunningKernel& kernel, BlockThreads& threads) : kernel_(kernel), threads_(threads) {}

  /// Forgets what the threads of earlier blocks have left.
  void begin_block();

  // Called by the current thread.

  void fence() { of_current().is_fenced = true; }
  /// d += a b^T.
  void start(float* d, const void* a, const void* b, SourcePlace at);
  void commit() { ++of_current().committed; }
  void wait(unsigned most_pending);
  /// A copy will overwrite [begin, begin + bytes): reports the products that still read there.
  void note_overwritten(const void* begin, std::size_t bytes, SourcePlace at);
  /// True if the sum at this address is one of an unfinished product of the thread.
  [[nodiscard]] bool is_unfinished(const ThreadState& thread, const void* address) const;

 private:
  struct Sums {
    float* d = nullptr;
    std::array<float, kSums> values{};
    std::size_t unfinished = 0;  // products
  };
  using SliceRow = std::array<std::byte, kSliceBytes>;
  struct Product {
    float* d = nullptr;
    TileSlice a, b;
    std::uint32_t group = 0;
    SourcePlace place;
    SliceRow row_of_a{}, row_of_b{};  // as they were at the start; one row each, for the checker
    bool is_reported = false;
  };
  struct Thread {
    std::vector<Product> products;  // oldest first
    std::vector<Sums> sums;
    std::uint32_t committed = 0;  // groups
    bool is_fenced = false;
  };

  [[nodiscard]] Thread& of_current();
  Sums& sums_of(Thread& own, float* d, SourcePlace at);
  void finish(Thread& own, Product& product);
  void show_reads(const Product& product);
  void check_unchanged(Product& product);
  void report(EngineFindingKind kind, std::string message, ThreadPlace first, std::optional<ThreadPlace> second = {});

  RunningKernel& kernel_;
  BlockThreads& threads_;
  std::vector<Thread> by_thread_;  // empty in blocks without products
};

}  // namespace lockstep::emulator
