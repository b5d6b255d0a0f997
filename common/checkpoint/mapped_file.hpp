#pragma once
/// @file
/// A file as memory.
#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

namespace lockstep::checkpoint {

/// A whole file mapped read-only; pages are read when touched. Move-only.
class MappedFile {
 public:
  /// @throws IoError  It cannot be opened or mapped.
  explicit MappedFile(std::filesystem::path path);
  /// Leaves `other` without bytes.
  MappedFile(MappedFile&& other) noexcept : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}
  /// Swaps.
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// As given to the constructor.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// The whole content; valid as long as this object.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace lockstep::checkpoint
