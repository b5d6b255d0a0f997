#include "checkpoint/writer_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "base/error.hpp"

namespace lockstep::checkpoint {

// Uses a separate file, because NFS grants an exclusive lock only to a descriptor that can write, which a folder's
// cannot. The file is never removed: a writer that has just opened it would lock a file that the next one cannot find.
// The kernel releases the lock when the holder ends, however it ends.
WriterLock::WriterLock(const std::filesystem::path& root) : path_(root / ".writer_lock") {
  std::error_code error;
  std::filesystem::create_directories(root, error);
  if (error) throw IoError(concat("cannot make the folder ", root.string(), " for checkpoints"), error.value());
  file_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file_.is_open()) throw IoError(concat("cannot open ", path_.string()), errno);
  int result = -1;
  do {
    result = ::flock(file_.get(), LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return;
  if (errno == EWOULDBLOCK)
    throw IoError(concat("cannot save in ", root.string(),
                         ": another process saves its checkpoints there. A run has one "
                         "writer: of several ranks only one may save, and a run may be resumed only once at a time"));
  throw IoError(
      concat("cannot lock ", path_.string(),
             ", which keeps a second process from saving there; choose a folder (--out) on a file system with "
             "locks, or have its locks turned on (Lustre: mount option flock; NFS: the lock service)"),
      errno);
}

bool WriterLock::is_in_place() const {
  std::error_code error;  // an error does not mean that nothing is there
  return std::filesystem::exists(path_, error) || error;
}

}  // namespace lockstep::checkpoint
