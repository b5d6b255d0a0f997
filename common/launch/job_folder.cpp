#include "launch/job_folder.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep::launch {
namespace {

namespace fs = std::filesystem;

// "job-<pid of its launcher>-<random>".
constexpr const char* kJobPrefix = "job-";
constexpr const char* kLastFailure = "last-failure";
constexpr const char* kFirstFailure = "first-failure";

void make_private_folder(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw IoError(concat("cannot make the folder ", path.string()), errno);
  }
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) throw IoError(concat("cannot read ", path.string()), errno);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
    throw IoError(concat(path.string(), " is not a folder of this user; set LOCKSTEP_STATE_DIR to one"));
  }
}

bool is_running(pid_t pid) { return kill(pid, 0) == 0 || errno == EPERM; }

void remove_stale_jobs(const fs::path& root) {
  std::error_code ignored;  // another launcher may be removing the same ones
  const fs::path kept = fs::read_symlink(root / kLastFailure, ignored);
  for (fs::directory_iterator entry(root, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (name.rfind(kJobPrefix, 0) != 0 || name == kept) continue;
    const pid_t launcher = static_cast<pid_t>(std::strtol(name.c_str() + std::string(kJobPrefix).size(), nullptr, 10));
    if (launcher <= 0 || !is_running(launcher)) fs::remove_all(entry->path(), ignored);
  }
}

}  // namespace

fs::path state_folder() {
  if (const auto set = environment::get("LOCKSTEP_STATE_DIR")) return *set;
  return fs::temp_directory_path() / ("lockstep-" + std::to_string(geteuid()));
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
  std::string path = (root / (kJobPrefix + std::to_string(getpid()) + "-XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) throw IoError(concat("cannot make the folder ", path), errno);
  path_ = path;
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
  std::error_code ignored;  // without the link the job is still reported, only not found again
  fs::create_symlink(path_.filename(), fresh, ignored);
  fs::rename(fresh, link, ignored);
}

}  // namespace lockstep::launch
