#pragma once
/// @file
/// The shadow of an address range: a cell for every four bytes, or one per byte if accesses are smaller.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "emulator/checker/cell.hpp"

namespace lockstep::emulator::checker {

/// A flat map: one table of chunks leads from an address's offset to its cell. Chunks are allocated when a kernel first
/// touches them, so memory used only by the host costs a pointer per 16 KiB.
///
/// Thread safety: none; guarded by the checker's lock.
class ShadowRange {
 public:
  /// Bytes of memory per chunk.
  static constexpr std::size_t kChunkBytes = 16384;
  /// Bytes of memory per cell.
  static constexpr std::size_t kCellBytes = 4;

  /// @param begin  First address; a multiple of 16. @param bytes  Size of the range.
  ShadowRange(const std::byte* begin, std::size_t bytes);
  ~ShadowRange();
  ShadowRange(const ShadowRange&) = delete;
  ShadowRange& operator=(const ShadowRange&) = delete;

  [[nodiscard]] const std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool contains(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin_) < bytes_;
  }

  /// Calls `visit(cell)` for the cells of [offset, offset + count), which must lie in the range. An access to only
  /// some of a cell's four bytes splits it into four cells.
  template <typename Visit>
  void for_each_cell(std::size_t offset, std::size_t count, const Visit& visit) {
    if (count == kCellBytes && offset % kCellBytes == 0) {
      visit_whole(chunk_of(offset), offset % kChunkBytes / kCellBytes, visit);
      return;
    }
    const std::size_t end = offset + count;
    while (offset < end) {
      Chunk& chunk = chunk_of(offset);
      const std::size_t index = offset % kChunkBytes / kCellBytes;
      const std::size_t in_cell = offset % kCellBytes;
      if (in_cell == 0 && end - offset >= kCellBytes) {
        visit_whole(chunk, index, visit);
        offset += kCellBytes;
      } else {
        visit(split(chunk, index)[in_cell]);
        ++offset;
      }
    }
  }

  /// The cell of four aligned bytes at `offset`, or null if it is split or of memory that no kernel has used yet.
  [[nodiscard]] Cell* whole_cell(std::size_t offset) const noexcept {
    const std::uintptr_t entry = chunks_[offset / kChunkBytes];
    if (entry <= kWritten) return nullptr;
    Cell& cell = reinterpret_cast<Chunk*>(entry)->cells[offset % kChunkBytes / kCellBytes];
    return is_split(cell) ? nullptr : &cell;
  }
  /// Calls `visit(cell, offset)` for the cells of [offset, offset + count) that kernels have used. Changes nothing.
  /// @param visit  Returns false to end.
  template <typename Visit>
  void for_each_used_cell(std::size_t offset, std::size_t count, const Visit& visit) const {
    for (const std::size_t end = offset + count; offset < end;) {
      const std::uintptr_t entry = chunks_[offset / kChunkBytes];
      if (entry <= kWritten) {
        offset = (offset / kChunkBytes + 1) * kChunkBytes;
        continue;
      }
      const Chunk& chunk = *reinterpret_cast<const Chunk*>(entry);
      const std::size_t index = offset % kChunkBytes / kCellBytes;
      const bool has_parts = is_split(chunk.cells[index]);
      if (!visit(has_parts ? (*chunk.parts)[index][offset % kCellBytes] : chunk.cells[index], offset)) return;
      offset += has_parts ? 1 : kCellBytes - offset % kCellBytes;
    }
  }

  /// Marks the memory as written by the host, before everything that runs from now on.
  void set_written(std::size_t offset, std::size_t count);
  /// Forgets who accessed the memory and when; keeps what was ever written.
  void forget_order();
  /// Marks the memory as never written.
  void set_unwritten(std::size_t offset, std::size_t count);

 private:
  static constexpr std::size_t kCells = kChunkBytes / kCellBytes;
  using Parts = std::array<Cell, kCellBytes>;
  struct Chunk {
    std::array<Cell, kCells> cells{};
    std::unique_ptr<std::array<Parts, kCells>> parts;  // valid for cells that are split
  };

  // Marks a cell whose parts count. In the cell itself, because every access looks at it.
  static constexpr Interval kSplit = std::numeric_limits<Interval>::max();
  [[nodiscard]] static bool is_split(const Cell& cell) noexcept { return cell.write.interval == kSplit; }

  template <typename Visit>
  void visit_whole(Chunk& chunk, std::size_t index, const Visit& visit) {
    if (!is_split(chunk.cells[index])) [[likely]] {
      visit(chunk.cells[index]);
      return;
    }
    for (Cell& part : (*chunk.parts)[index]) visit(part);
    join(chunk, index);
  }
  Chunk& chunk_of(std::size_t offset) {
    const std::uintptr_t entry = chunks_[offset / kChunkBytes];
    return entry > kWritten ? *reinterpret_cast<Chunk*>(entry) : make_chunk(offset / kChunkBytes);
  }
  static constexpr std::uintptr_t kUnwritten = 0;  // no chunk: none of it was ever written
  static constexpr std::uintptr_t kWritten = 1;    // no chunk: the host wrote all of it
  struct Release {
    void operator()(std::uintptr_t* table) const noexcept;
  };
  Chunk& make_chunk(std::size_t index);
  void drop_chunk(std::size_t index, std::uintptr_t entry) noexcept;
  static Parts& split(Chunk& chunk, std::size_t index);
  static void join(Chunk& chunk, std::size_t index) noexcept;
  void set_all(std::size_t offset, std::size_t count, bool is_written);

  const std::byte* begin_;
  std::size_t bytes_;
  std::unique_ptr<std::uintptr_t[], Release> chunks_;  // addresses of chunks; unused pages of the table cost nothing
};

}  // namespace lockstep::emulator::checker
