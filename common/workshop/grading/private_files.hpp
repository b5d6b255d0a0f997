#pragma once
/// @file
/// Who may read what `grade` writes, and who may write there.
#include <filesystem>
#include <string>

#include "base/unique_fd.hpp"

namespace lockstep::grading {

/// From now on files and folders that this process, or one that it starts, makes are for their owner alone.
void keep_files_private() noexcept;

/// Makes a folder for its owner alone; one that is there already is closed to others.
/// @throws std::filesystem::filesystem_error
void make_private_folder(const std::filesystem::path& folder);

/// Lets everybody read a file, or a folder and all in it: what the user for submissions compiles and runs.
/// @throws std::filesystem::filesystem_error
void let_others_read(const std::filesystem::path& path);

/// What a file with a secret holds, without line breaks at its end.
/// @param path  Its owner must be this user, and nobody else may read it. "-": standard input instead.
/// @throws UsageError  It is empty, or others may read it. @throws IoError  It cannot be read.
[[nodiscard]] std::string read_secret(const std::filesystem::path& path);

/// A folder that one process at a time uses.
class FolderLock {
 public:
  /// Makes the folder, for its owner alone, if there is none. @throws UsageError  Another process has it. @throws
  /// IoError
  explicit FolderLock(const std::filesystem::path& folder);

 private:
  UniqueFd file_;
};

}  // namespace lockstep::grading
