#pragma once
/// @file
/// Memory that is mapped twice: one address for the program, which may be closed, and one that is always open.
#include <cstddef>

namespace lockstep::emulator {

/// Bytes of an anonymous file at two addresses; a write at one is seen at the other. Pages come into being when they
/// are first touched. Thread safety: none needed but for close() and open(), which the owner orders.
class DoubleMapping {
 public:
  /// @param bytes  How many; rounded up to pages.
  /// @throws IoError  The system refuses; names the call and the amount.
  explicit DoubleMapping(std::size_t bytes);
  /// Leaves `other` without memory.
  DoubleMapping(DoubleMapping&& other) noexcept;
  DoubleMapping& operator=(DoubleMapping&&) = delete;
  DoubleMapping(const DoubleMapping&) = delete;
  DoubleMapping& operator=(const DoubleMapping&) = delete;
  ~DoubleMapping();

  /// First byte as the program sees it.
  [[nodiscard]] std::byte* program() const noexcept { return program_; }
  /// The same byte as the runtime sees it.
  [[nodiscard]] std::byte* alias() const noexcept { return alias_; }
  /// Of each mapping, whole pages.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Makes the program's address of pages unreadable, or readable and writable again.
  /// @param offset  Multiple of the page size. @param bytes  Rounded up to pages.
  void close(std::size_t offset, std::size_t bytes) const noexcept;
  /// Undoes close().
  void open(std::size_t offset, std::size_t bytes) const noexcept;

  /// Gives the pages that lie wholly inside the range back to the system; they read as zero from then on.
  void discard(std::size_t offset, std::size_t bytes) const noexcept;

 private:
  std::byte* program_ = nullptr;
  std::byte* alias_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Of this machine.
std::size_t page_bytes();

}  // namespace lockstep::emulator
