#include "grading/sandbox_user.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/state_folder.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

constexpr int kFirstUser = 61000, kLastUser = 61183;

// Owned by root, so that nobody else can hold the locks.
fs::path lock_folder() {
  const fs::path parent = fs::is_directory("/run/lock") ? fs::path("/run/lock") : temporary_folder();
  const fs::path folder = parent / "lockstep-users";
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw IoError(concat("cannot make the folder ", folder.string()), errno);
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) throw IoError(concat("cannot read ", folder.string()), errno);
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
    throw IoError(concat(folder.string(), " is not a folder of this user; remove it"));
  return folder;
}

}  // namespace

SandboxUser::SandboxUser() : id_(kFirstUser) {
  if (::geteuid() != 0) return;
  const fs::path folder = lock_folder();
  for (; id_ <= kLastUser; ++id_) {
    const fs::path file = folder / std::to_string(id_);
    UniqueFd lock(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock.is_open()) throw IoError(concat("cannot open ", file.string()), errno);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    lock_ = std::move(lock);
    return;
  }
  throw IoError(concat("all users from ", kFirstUser, " to ", kLastUser,
                       " are taken by submissions that are being graded; use fewer --jobs"));
}

}  // namespace lockstep::grading
