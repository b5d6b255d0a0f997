#pragma once
/// @file
/// Access rights to files that `grade` writes.
#include <filesystem>
#include <string>

#include "base/unique_fd.hpp"

namespace lockstep::grading {

/// From now on, only the owner can access files and folders that this process or its children make.
void keep_files_private() noexcept;

/// Makes a folder that only its owner can access; restricts an existing one.
/// @throws std::filesystem::filesystem_error
void make_private_folder(const std::filesystem::path& folder);

/// Lets everyone read a file, or a folder and its contents: files that the user for submissions compiles and runs.
/// @throws std::filesystem::filesystem_error
void let_others_read(const std::filesystem::path& path);

/// The contents of a file with a secret, without trailing line breaks.
/// @param path  Its owner must be this user, and nobody else may be able to read it. "-": standard input instead.
/// @throws UsageError  It is empty, or others can read it. @throws IoError  It cannot be read.
[[nodiscard]] std::string read_secret(const std::filesystem::path& path);

/// Exclusive use of a folder by one process.
class FolderLock {
 public:
  /// Makes the folder if necessary, accessible only to its owner.
  /// @throws UsageError  Another process has locked it. @throws IoError
  explicit FolderLock(const std::filesystem::path& folder);

 private:
  UniqueFd file_;
};

}  // namespace lockstep::grading
