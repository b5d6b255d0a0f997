#pragma once
/// @file
/// Memory that is mapped twice: at an address for the program, which can be closed, and at one that is always open.
#include <cstddef>

namespace lockstep::emulator {

/// An anonymous file mapped at two addresses; a write at one is visible at the other. Pages are allocated when first
/// touched. Not thread-safe: the owner must order close() and open().
class DoubleMapping {
 public:
  /// @param bytes  Rounded up to pages.
  /// @throws IoError  The system refuses; names the call and the amount.
  explicit DoubleMapping(std::size_t bytes);
  /// Leaves `other` empty.
  DoubleMapping(DoubleMapping&& other) noexcept;
  DoubleMapping& operator=(DoubleMapping&&) = delete;
  DoubleMapping(const DoubleMapping&) = delete;
  DoubleMapping& operator=(const DoubleMapping&) = delete;
  ~DoubleMapping();

  /// The program's address.
  [[nodiscard]] std::byte* program() const noexcept { return program_; }
  /// The runtime's address of the same byte.
  [[nodiscard]] std::byte* alias() const noexcept { return alias_; }
  /// Size of each mapping, in whole pages.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Makes pages inaccessible at the program's address.
  /// @param offset  Multiple of the page size. @param bytes  Rounded up to pages.
  void close(std::size_t offset, std::size_t bytes) const noexcept;
  /// Makes pages read-only at the program's address. Parameters as for close().
  void forbid_writes(std::size_t offset, std::size_t bytes) const noexcept;
  /// Undoes close() and forbid_writes().
  void open(std::size_t offset, std::size_t bytes) const noexcept;

  /// Returns the pages that lie entirely in the range to the system; they then read as zero.
  void discard(std::size_t offset, std::size_t bytes) const noexcept;

 private:
  std::byte* program_ = nullptr;
  std::byte* alias_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The system's page size.
std::size_t page_bytes();

}  // namespace lockstep::emulator
