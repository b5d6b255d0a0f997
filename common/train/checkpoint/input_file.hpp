#pragma once
/// @file
/// A file that is read in parts, on demand.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/unique_fd.hpp"

namespace lockstep::checkpoint {

/// An open file of a fixed size. It is not mapped, because a mapped file that another program truncates, or a read
/// error, ends the process with SIGBUS. Move-only. Thread safety: const calls from any thread.
class InputFile {
 public:
  /// @throws IoError  It cannot be opened, or is a folder.
  explicit InputFile(std::filesystem::path path);

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
