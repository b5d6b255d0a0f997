#pragma once
/// @file
/// An append-only file of records.
#include <filesystem>
#include <string_view>

#include "base/unique_fd.hpp"

namespace lockstep::run {

/// The format of a file's records.
enum class Records {
  kLines,  ///< Each ends in a line feed. Text after the last one was left by a killed process.
  kBytes,  ///< Any bytes; the file belongs to this process alone.
};

/// False if the file that is open as `fd` was removed, replaced or moved: what is written to it is not found at `path`.
[[nodiscard]] bool is_still_at(const std::filesystem::path& path, int fd) noexcept;

/// Adds whole records: append() passes each to the system in one write before it returns.
class RecordFile {
 public:
  /// Opens the file for appending, or creates it. Removes a partial line at its end, to which the next record would be
  /// joined, with a warning. @throws IoError  Names it.
  RecordFile(std::filesystem::path path, Records records);
  /// @throws IoError  For example, the disk is full; names the file, which is unchanged.
  void append(std::string_view record);
  /// As is_still_at().
  [[nodiscard]] bool is_in_place() const noexcept { return is_still_at(path_, file_.get()); }

 private:
  void remove_torn_line();

  std::filesystem::path path_;
  UniqueFd file_;
};

}  // namespace lockstep::run
