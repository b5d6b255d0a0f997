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

/// Adds whole records: append() passes each to the system in one write before it returns.
class RecordFile {
 public:
  /// Opens the file for appending, or creates it. Removes a partial line at its end, to which the next record would be
  /// joined, with a warning. @throws IoError  Names it.
  RecordFile(std::filesystem::path path, Records records);
  /// @throws IoError  For example, the disk is full; names the file, which is unchanged.
  void append(std::string_view record);

 private:
  void remove_torn_line();

  std::filesystem::path path_;
  UniqueFd file_;
};

}  // namespace lockstep::run
