#include "comm/flight_recorder/flight_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/state_folder.hpp"

namespace lockstep::comm {
namespace {

namespace fs = std::filesystem;

// The prefix used in launch/job_folder.cpp, whose list of running jobs includes these.
constexpr const char* kJobPrefix = "job-";
constexpr const char* kLockFile = "lock";
constexpr int kAttempts = 10;

/// A recorder and the folder that it needs.
struct OwnRecord {
  OwnRecord(const std::string& name, int rank, int world_size, int generation)
      : folder(name), recorder(folder.path().string(), rank, world_size, generation) {}
  FlightFolder folder;
  FlightRecorder recorder;
};

}  // namespace

FlightFolder::FlightFolder(const std::string& name) {
  make_private_folder(state_folder());
  path_ = state_folder() / (kJobPrefix + name);
  for (int attempt = 0; attempt < kAttempts; ++attempt)
    if (join()) return;
  throw IoError(concat("cannot use the folder ", path_.string(), ": it is removed again and again"));
}

// False: it was removed in the meantime.
bool FlightFolder::join() {
  make_private_folder(path_);
  lock_.reset(::open((path_ / kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_.is_open() && errno == ENOENT) return false;
  if (!lock_.is_open()) throw IoError(concat("cannot make a file in ", path_.string()), errno);
  const bool is_alone = ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0;
  struct stat status {};
  if (is_alone && ::fstat(lock_.get(), &status) == 0 && status.st_nlink > 0) remove_records();
  // If this rank was alone, another one may take the lock in between: it then finds nothing to remove.
  if (::flock(lock_.get(), LOCK_SH) != 0) throw IoError(concat("cannot lock a file in ", path_.string()), errno);
  return ::fstat(lock_.get(), &status) == 0 && status.st_nlink > 0;
}

void FlightFolder::remove_records() const noexcept {
  std::error_code ignored;
  for (fs::directory_iterator entry(path_, ignored), end; entry != end; entry.increment(ignored))
    if (entry->path().extension() == ".flight") fs::remove(entry->path(), ignored);
}

FlightFolder::~FlightFolder() {
  std::error_code ignored;
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(path_, ignored);
}

std::string flight_folder_name(const net::SocketAddress& address) {
  std::string name = concat(address.host, "-", address.port);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  return name;
}

std::shared_ptr<FlightRecorder> record_in_own_folder(const net::SocketAddress& meeting, int rank, int world_size,
                                                     int generation) noexcept try {
  auto record = std::make_shared<OwnRecord>(flight_folder_name(meeting), rank, world_size, generation);
  return {record, &record->recorder};
} catch (const std::exception& error) {
  Logger(concat("rank ", rank)).debug(concat("no record of collectives: ", error.what()));
  return nullptr;
}

}  // namespace lockstep::comm
