#pragma once
/// @file
/// A file to which records are only ever added.
#include <filesystem>
#include <string_view>

#include "base/unique_fd.hpp"

namespace lockstep::accelerate {

/// Adds whole records: what append() has taken is with the system when it returns, in one write.
class RecordFile {
 public:
  /// Opens the file behind what it has, or makes it. @throws IoError  Names it.
  explicit RecordFile(std::filesystem::path path);
  /// @throws IoError  The disk is full, for example; names the file.
  void append(std::string_view record);
  /// Whether it was empty when it was opened.
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }

 private:
  std::filesystem::path path_;
  UniqueFd file_;
  bool is_new_ = true;
};

}  // namespace lockstep::accelerate
