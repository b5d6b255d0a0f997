#pragma once
/// @file
/// Tiles of 64 columns of bfloat16 in shared memory, with the 128-byte swizzle of Hopper's copies and products.
#include <cstddef>
#include <cstdint>

namespace lockstep::emulator {

inline constexpr std::size_t kTileRowBytes = 128, kTileAlignment = 1024;
inline constexpr int kTileColumns = 64;
/// A product reads 16 columns of a tile: 32 bytes of each row.
inline constexpr std::size_t kSliceBytes = 32;

/// Where byte `offset` of a row of a tile lies in that row: the groups of 16 bytes are permuted, differently in each of
/// 8 rows.
[[nodiscard]] constexpr std::size_t swizzled(std::size_t row, std::size_t offset) noexcept {
  return offset ^ row % 8 * 16;
}

/// 16 columns of a tile, named by the address of the first row's first byte as it would be without the swizzle.
class TileSlice {
 public:
  explicit TileSlice(const void* slice) noexcept : slice_(static_cast<const std::byte*>(slice)) {}

  /// False if no tile begins where this one would.
  [[nodiscard]] bool is_aligned() const noexcept {
    return number() % kTileAlignment < kTileRowBytes && number() % kSliceBytes == 0;
  }
  /// The first byte of the tile.
  [[nodiscard]] const std::byte* tile() const noexcept { return slice_ - column_bytes(); }
  /// The element at (row, column of 16).
  [[nodiscard]] const std::byte* element(std::size_t row, std::size_t column) const noexcept {
    return tile() + row * kTileRowBytes + swizzled(row, column_bytes() + column * sizeof(std::uint16_t));
  }
  /// The 32 bytes that hold a row's 16 elements, in whatever order.
  [[nodiscard]] const std::byte* row_bytes(std::size_t row) const noexcept {
    return tile() + row * kTileRowBytes + swizzled(row, column_bytes()) / kSliceBytes * kSliceBytes;
  }

 private:
  [[nodiscard]] std::uintptr_t number() const noexcept { return reinterpret_cast<std::uintptr_t>(slice_); }
  [[nodiscard]] std::size_t column_bytes() const noexcept { return number() % kTileRowBytes; }

  const std::byte* slice_;
};

}  // namespace lockstep::emulator
