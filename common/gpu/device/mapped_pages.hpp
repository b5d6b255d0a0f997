#pragma once
/// @file
/// Memory obtained directly from the system. Private to the module.
#include <cstddef>

namespace lockstep {

/// Owns pages from the system.
class MappedPages {
 public:
  /// The system's page size, in bytes.
  static constexpr std::size_t kPageBytes = 4096;
  /// Every mapping begins at a multiple of this, so that the system can back it with huge pages.
  static constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

  /// Maps `bytes` at an address aligned to a huge page, and asks for huge pages. @throws Error  Out of memory.
  explicit MappedPages(std::size_t bytes);
  MappedPages(MappedPages&& other) noexcept;
  /// Unmaps its pages, then takes the other's.
  MappedPages& operator=(MappedPages&& other) noexcept;
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;
  ~MappedPages();

  /// Returns part of a mapping's memory to the system: it then reads as zero, and takes memory again when written.
  /// @param begin, bytes  Multiples of kPageBytes.
  static void discard(std::byte* begin, std::size_t bytes) noexcept;

  /// Null if empty or moved from.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace lockstep
