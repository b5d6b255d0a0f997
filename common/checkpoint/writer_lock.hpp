#pragma once
/// @file
/// One writer per folder of checkpoints.
#include <filesystem>

#include "base/unique_fd.hpp"

namespace lockstep::checkpoint {

/// Keeps other processes from writing checkpoints into a folder for as long as it lives, or its process does. Two
/// writers would take each other's unfinished files for leftovers and remove them. Readers are not affected.
///
/// Where the file system has no locks, it keeps nobody out: a folder is then as safe as its users are careful.
class WriterLock {
 public:
  /// @param root  The folder of checkpoints; made if it does not exist.
  /// @throws IoError  Another process holds it, or it cannot be made; names it.
  explicit WriterLock(const std::filesystem::path& root);

 private:
  UniqueFd folder_;
};

}  // namespace lockstep::checkpoint
