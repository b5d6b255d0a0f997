#pragma once
/// @file
/// A file to which records are only ever added.
#include <filesystem>
#include <string_view>

#include "base/unique_fd.hpp"

namespace lockstep::accelerate {

/// What the records of a file are.
enum class Records {
  kLines,  ///< Each ends in a line feed. What follows the last one was being written when its process was killed.
  kBytes,  ///< Anything; the file belongs to this process alone.
};

/// Adds whole records: what append() has taken is with the system when it returns, in one write.
class RecordFile {
 public:
  /// Opens the file behind what it has, or makes it. Half a line at its end, to which the next record would be joined,
  /// is removed, with a warning. @throws IoError  Names it.
  RecordFile(std::filesystem::path path, Records records);
  /// @throws IoError  The disk is full, for example; names the file, which is as it was before.
  void append(std::string_view record);
  /// Whether it had no record when it was opened.
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }

 private:
  void remove_torn_line();

  std::filesystem::path path_;
  UniqueFd file_;
  bool is_new_ = true;
};

}  // namespace lockstep::accelerate
