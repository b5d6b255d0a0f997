#include "checkpoint/writer_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "base/error.hpp"

namespace lockstep::checkpoint {

// The folder itself is locked, so that no further file lies in it; the kernel lets go when its holder ends, however.
WriterLock::WriterLock(const std::filesystem::path& root) {
  std::error_code error;
  std::filesystem::create_directories(root, error);
  if (error) throw IoError(concat("cannot make the folder ", root.string(), " for checkpoints"), error.value());
  folder_ = UniqueFd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_.is_open()) throw IoError(concat("cannot open ", root.string()), errno);
  if (::flock(folder_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw IoError(concat("cannot save in ", root.string(),
                       ": another process saves its checkpoints there. A run has one "
                       "writer: of several ranks only one may save, and a run may be resumed only once at a time"));
}

}  // namespace lockstep::checkpoint
