#pragma once
/// @file
/// Memory straight from the system. Private to the module.
#include <cstddef>

namespace lockstep {

/// Pages from the system, given back with the object.
class MappedPages {
 public:
  /// What the system hands out, in bytes.
  static constexpr std::size_t kPageBytes = 4096;
  /// Every mapping begins at a multiple of this, so that the system can back it with huge pages.
  static constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

  /// Maps `bytes` at an address aligned to a huge page, and asks for huge pages. @throws Error  Out of memory.
  explicit MappedPages(std::size_t bytes);
  /// Takes the other's pages.
  MappedPages(MappedPages&& other) noexcept;
  /// Unmaps its own pages, then takes the other's.
  MappedPages& operator=(MappedPages&& other) noexcept;
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;
  ~MappedPages();

  /// Gives the memory of a part of a mapping back: it reads as zero, and takes memory again once it is written to.
  /// @param begin, bytes  Multiples of kPageBytes.
  static void discard(std::byte* begin, std::size_t bytes) noexcept;

  /// First byte; null for none.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// Size of the mapping.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace lockstep
