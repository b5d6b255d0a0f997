#pragma once
/// @file
/// A file whose parts are read when they are needed.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/unique_fd.hpp"

namespace lockstep::checkpoint {

/// An open file of a fixed size. It is read and not mapped: a mapped file that another program cuts short ends the
/// process with SIGBUS, and a read error does the same. Move-only. Thread safety: const calls from any thread.
class InputFile {
 public:
  /// @throws IoError  It cannot be opened, or is a folder.
  explicit InputFile(std::filesystem::path path);

  /// As given to the constructor.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// The file's size when it was opened.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Fills `destination` with the bytes from `offset` on.
  /// @throws IoError      The disk failed; names file and offset.
  /// @throws FormatError  The file ends earlier than when it was opened.
  void read(std::uint64_t offset, std::span<std::byte> destination) const;

  /// The first bytes, at most `count`. @throws  As read().
  [[nodiscard]] std::string beginning(std::size_t count) const;

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  std::uint64_t bytes_ = 0;
};

}  // namespace lockstep::checkpoint
