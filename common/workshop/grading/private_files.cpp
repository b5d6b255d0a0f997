#include "grading/private_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <iterator>

#include "base/error.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfSecret = 1 << 20;

std::string read_to_end(int fd, const fs::path& path) {
  std::string text;
  char piece[4096];
  while (text.size() <= kMostOfSecret) {
    const ssize_t count = ::read(fd, piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw IoError(concat("cannot read ", path.string()), errno);
    if (count == 0) return text;
    text.append(piece, static_cast<std::size_t>(count));
  }
  throw UsageError(concat(path.string(), " is too long for a secret"));
}

std::string read_private_file(const fs::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) throw IoError(concat("cannot read ", path.string()), errno);
  if (S_ISREG(status.st_mode) && (status.st_mode & 077U) != 0)
    throw UsageError(concat(path.string(), " holds a secret, and others may read it: chmod 600 ", path.string()));
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    throw UsageError(concat(path.string(), " holds a secret, and belongs to somebody else: copy it, and use the copy"));
  return read_to_end(file.get(), path);
}

}  // namespace

void keep_files_private() noexcept { ::umask(077); }

void make_private_folder(const fs::path& folder) {
  fs::create_directories(folder);
  fs::permissions(folder, fs::perms::owner_all);
}

void let_others_read(const fs::path& path) {
  constexpr auto kReadable = fs::perms::group_read | fs::perms::others_read;
  constexpr auto kSearchable = kReadable | fs::perms::group_exec | fs::perms::others_exec;
  const auto open_one = [&](const fs::path& one) {
    if (fs::is_symlink(fs::symlink_status(one))) return;
    fs::permissions(one, fs::is_directory(one) ? kSearchable : kReadable, fs::perm_options::add);
  };
  open_one(path);
  if (!fs::is_directory(fs::symlink_status(path))) return;
  for (const auto& entry : fs::recursive_directory_iterator(path)) open_one(entry.path());
}

std::string read_secret(const fs::path& path) {
  const bool is_stdin = path == "-";
  std::string secret = is_stdin ? read_to_end(STDIN_FILENO, "standard input") : read_private_file(path);
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
  if (secret.empty()) throw UsageError(concat(is_stdin ? "standard input" : path.string(), " holds no secret"));
  return secret;
}

FolderLock::FolderLock(const fs::path& folder) {
  if (!fs::exists(folder)) make_private_folder(folder);
  const fs::path file = folder / ".lock";
  file_.reset(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_.is_open()) throw IoError(concat("cannot open ", file.string()), errno);
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) throw IoError(concat("cannot lock ", file.string()), errno);
  throw UsageError(concat("another ./lockstep grade is at work in ", folder.string(),
                          ": wait until it has ended, or give another folder with --out"));
}

}  // namespace lockstep::grading
