#include "launch/job_folder.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "base/state_folder.hpp"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJobPrefix = "job-";
constexpr const char* kLockFile = "lock";
// Longest time from creating a folder to locking it; until then a folder without a lock file belongs to a job that is
// starting.
constexpr std::chrono::minutes kLongestStart{1};
constexpr int kAttempts = 10;
constexpr const char* kLastFailure = "last-failure";
constexpr const char* kFirstFailure = "first-failure";

// Locks the file in a job's folder; empty, with errno, if another process holds it or it cannot be locked.
UniqueFd lock_folder(const fs::path& folder, int flags) {
  UniqueFd lock(open((folder / kLockFile).c_str(), O_RDWR | O_CLOEXEC | flags, 0600));
  if (!lock.is_open() || flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  const int error = errno;
  lock.reset();
  errno = error;
  return lock;
}

// The lock is held until everything is removed, so that a launcher that is about to reuse this folder notices.
void remove_if_stale(const fs::path& folder) {
  std::error_code ignored;  // another launcher may be removing the same one
  const UniqueFd lock = lock_folder(folder, 0);
  const bool has_no_lock = !lock.is_open() && errno == ENOENT;
  const auto written = fs::last_write_time(folder, ignored);
  const bool is_old = !ignored && fs::file_time_type::clock::now() - written > kLongestStart;
  if (lock.is_open() || (has_no_lock && is_old)) fs::remove_all(folder, ignored);
}

void remove_stale_jobs(const fs::path& root) {
  std::error_code ignored;
  const fs::path kept = fs::read_symlink(root / kLastFailure, ignored);
  for (fs::directory_iterator entry(root, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.rfind(kJobPrefix, 0) == 0 && name != kept) remove_if_stale(entry->path());
  }
}

}  // namespace

std::vector<fs::path> running_jobs() {
  std::vector<fs::path> running;
  std::error_code ignored;
  for (fs::directory_iterator entry(state_folder(), ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().filename().string().rfind(kJobPrefix, 0) != 0) continue;
    const UniqueFd lock = lock_folder(entry->path(), 0);
    if (!lock.is_open() && errno == EWOULDBLOCK) running.push_back(entry->path());
  }
  std::ranges::sort(running);
  return running;
}

std::optional<fs::path> last_failure() {
  std::error_code error;
  const fs::path target = fs::read_symlink(state_folder() / kLastFailure, error);
  if (error || !fs::is_directory(state_folder() / target, error)) return std::nullopt;
  return state_folder() / target;
}

JobFolder::JobFolder() {
  const fs::path root = state_folder();
  make_private_folder(root);
  remove_stale_jobs(root);
  // Before the lock file is locked, another launcher may mistake it for a killed launcher's and remove it.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string path = (root / (std::string(kJobPrefix) + "XXXXXX")).string();
    if (mkdtemp(path.data()) == nullptr) throw IoError(concat("cannot make the folder ", path), errno);
    path_ = path;
    lock_ = lock_folder(path_, O_CREAT);
    const int error = errno;
    struct stat status {};
    if (lock_.is_open() && fstat(lock_.get(), &status) == 0 && status.st_nlink > 0) return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    if (!lock_.is_open() && error != EWOULDBLOCK && error != ENOENT)
      throw IoError(concat("cannot lock a file in ", path_.string(), "; set LOCKSTEP_STATE_DIR to a local folder"),
                    error);
  }
  throw IoError(concat("cannot make a folder for the job in ", root.string(), ": it is removed again and again"));
}

JobFolder::~JobFolder() {
  std::error_code ignored;
  if (!is_kept_) fs::remove_all(path_, ignored);
}

void JobFolder::note_first_failure(int rank, const std::string& what) const {
  std::ofstream(path_ / kFirstFailure) << rank << " " << what << "\n";
}

std::optional<FirstFailure> read_first_failure(const fs::path& folder) {
  std::ifstream file(folder / kFirstFailure);
  FirstFailure failure;
  if (!(file >> failure.rank) || !std::getline(file >> std::ws, failure.what)) return std::nullopt;
  return failure;
}

void JobFolder::keep() {
  is_kept_ = true;
  const fs::path link = path_.parent_path() / kLastFailure;
  const fs::path fresh = path_.parent_path() / (path_.filename().string() + ".link");
  std::error_code ignored;  // without the link the job is still reported, but last_failure() does not find it
  fs::create_symlink(path_.filename(), fresh, ignored);
  fs::rename(fresh, link, ignored);
}

}  // namespace lockstep::launch
