#pragma once
/// @file
/// One writer per folder of checkpoints.
#include <filesystem>

#include "base/unique_fd.hpp"

namespace lockstep::checkpoint {

/// Keeps other processes from writing checkpoints into a folder while this object and its process live. Two writers
/// would take each other's unfinished files for leftovers and remove them. Readers are not affected.
///
/// The lock is on the file `.writer_lock` in the folder, which is never removed. It works between the hosts of a
/// network file system too, if that supports locks (NFS does if its lock service runs).
class WriterLock {
 public:
  /// @param root  The folder of checkpoints; made if it does not exist.
  /// @throws IoError  Another process holds it, or it cannot be made, or the file system has no locks; names it.
  explicit WriterLock(const std::filesystem::path& root);

  /// False if the file of the lock was removed or moved with its folder: other processes do not see the lock any more.
  [[nodiscard]] bool is_in_place() const;

 private:
  std::filesystem::path path_;
  UniqueFd file_;
};

}  // namespace lockstep::checkpoint
