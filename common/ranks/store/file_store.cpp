#include "store/file_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "store/file_log.hpp"

namespace lockstep::store {
namespace {

using namespace std::chrono_literals;

// How long a call waits for another process's call to finish.
constexpr auto kLockLimit = 15s;

// Bytes of the file that stand for locks; the content itself is not range-locked.
constexpr off_t kChangeByte = 0;    // held while the content is read or changed
constexpr off_t kPresenceByte = 1;  // held, shared, by every process that has the store open

// Locks belong to the open file, not to the process: two stores in one process exclude each other as well, and closing
// another descriptor of the same file does not release them. Never blocks. False if a conflicting lock is held.
bool try_lock(int fd, off_t byte, short type, const std::filesystem::path& path) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  if (::fcntl(fd, F_OFD_SETLK, &range) == 0) return true;
  if (errno == EAGAIN || errno == EACCES || errno == EINTR) return false;
  throw IoError(concat("locking ", path.string(), " (does its file system have locks?)"), errno);
}

std::int64_t parse_integer(const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && stop == text.data() + text.size()) return value;
  throw FormatError(concat("store: the value of ", key, " is not an integer"));
}

void check_lengths(const std::string& key, const std::string& value) {
  require(!key.empty() && key.size() <= kMaxKeyBytes && value.size() <= kMaxValueBytes, "store: key of ", key.size(),
          " or value of ", value.size(), " bytes (1 to ", kMaxKeyBytes, " and 0 to ", kMaxValueBytes, " are allowed)");
}

std::uint64_t bytes_of(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw IoError(path.string(), errno);
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

// Holds the right to read and change the content.
class FileStore::Lock {
 public:
  Lock(int fd, const std::filesystem::path& path, const Deadline& deadline) : fd_(fd), path_(path) {
    for (auto pause = 100us; !try_lock(fd_, kChangeByte, F_WRLCK, path_);
         pause = std::min<std::chrono::microseconds>(pause * 2, 5ms)) {
      if (deadline.has_expired()) {
        throw TimeoutError(concat(path_.string(), ": another process holds the lock for ",
                                  format_seconds(deadline.waited()), "; is one of its users stopped?"));
      }
      std::this_thread::sleep_for(pause);
    }
  }
  ~Lock() {
    try {
      (void)try_lock(fd_, kChangeByte, F_UNLCK, path_);
    } catch (const IoError& error) {
      Logger("store").error(error.what());
    }
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
  const std::filesystem::path& path_;
};

FileStore::FileStore(std::filesystem::path path, const Deadline& deadline) : path_(std::move(path)) { open(deadline); }

void FileStore::open(const Deadline& deadline) {
  while (!try_open(deadline)) {
    if (deadline.has_expired()) throw TimeoutError(concat(path_.string(), " is removed again and again"));
  }
}

// False if the last user of an earlier store removed the file between open and lock.
bool FileStore::try_open(const Deadline& deadline) {
  fd_.reset(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd_.is_open()) throw IoError(concat("opening ", path_.string()), errno);
  check_owner();
  const Lock lock(fd_.get(), path_, deadline);
  struct stat opened {
  }, named{};
  if (::fstat(fd_.get(), &opened) != 0) throw IoError(path_.string(), errno);
  const bool is_there = ::stat(path_.c_str(), &named) == 0;
  if (!is_there || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev) return false;
  const bool is_alone = try_lock(fd_.get(), kPresenceByte, F_WRLCK, path_);
  if (is_alone && ::ftruncate(fd_.get(), 0) != 0) throw IoError(concat("emptying ", path_.string()), errno);
  if (!try_lock(fd_.get(), kPresenceByte, F_RDLCK, path_)) throw IoError(concat("locking ", path_.string()));
  return true;
}

void FileStore::check_owner() const {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) throw IoError(path_.string(), errno);
  const bool is_private = S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 0077) == 0;
  if (!is_private) throw Error(concat(path_.string(), " is not a file of this user alone (mode 0600); remove it"));
}

// The last user removes the file, under the lock: a process that opened it meanwhile sees that, and makes another.
FileStore::~FileStore() {
  try {
    const Lock lock(fd_.get(), path_, Deadline::after(kLockLimit));
    if (try_lock(fd_.get(), kPresenceByte, F_WRLCK, path_)) ::unlink(path_.c_str());
    (void)try_lock(fd_.get(), kPresenceByte, F_UNLCK, path_);
  } catch (const Error& error) {
    Logger("store").error(error.what());
  }
}

// Reads newly appended records, under the lock. Truncates a record that a killed process left incomplete.
void FileStore::refresh() {
  const std::uint64_t total = bytes_of(fd_.get(), path_);
  if (total == read_bytes_) return;
  if (total < read_bytes_) throw IoError(concat(path_.string(), " was cut short by somebody else"));
  std::vector<std::byte> fresh(total - read_bytes_);
  std::size_t received = 0;
  while (received < fresh.size()) {
    const auto rest = std::span(fresh).subspan(received);
    const ssize_t count = ::pread(fd_.get(), rest.data(), rest.size(), static_cast<off_t>(read_bytes_ + received));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw IoError(concat("reading ", path_.string()), count < 0 ? errno : 0);
    received += static_cast<std::size_t>(count);
  }
  read_bytes_ += replay(fresh, values_);
  if (read_bytes_ < total && ::ftruncate(fd_.get(), static_cast<off_t>(read_bytes_)) != 0) {
    throw IoError(concat("mending ", path_.string()), errno);
  }
}

void FileStore::append(const std::string& key, const std::optional<std::string>& value) {
  const std::vector<std::byte> bytes = encode(LogRecord{key, value});
  std::size_t written = 0;
  while (written < bytes.size()) {
    const auto rest = std::span(bytes).subspan(written);
    const ssize_t count = ::pwrite(fd_.get(), rest.data(), rest.size(), static_cast<off_t>(read_bytes_ + written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw IoError(concat("writing ", path_.string()), errno);
    written += static_cast<std::size_t>(count);
  }
  read_bytes_ += bytes.size();
  if (value)
    values_[key] = *value;
  else
    values_.erase(key);
}

void FileStore::set(const std::string& key, const std::string& value) {
  check_lengths(key, value);
  const std::scoped_lock guard(mutex_);
  const Lock lock(fd_.get(), path_, Deadline::after(kLockLimit));
  refresh();
  append(key, value);
}

std::optional<std::string> FileStore::try_get(const std::string& key) {
  check_lengths(key, {});
  const std::scoped_lock guard(mutex_);
  if (bytes_of(fd_.get(), path_) != read_bytes_) {
    const Lock lock(fd_.get(), path_, Deadline::after(kLockLimit));
    refresh();
  }
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::string FileStore::get(const std::string& key, const Deadline& deadline) {
  for (auto pause = 1000us;; pause = std::min<std::chrono::microseconds>(pause * 2, 20ms)) {
    if (auto value = try_get(key)) return std::move(*value);
    if (deadline.has_expired()) {
      throw TimeoutError(concat("store: nobody set ", key, " within ", format_seconds(deadline.waited())));
    }
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, deadline.remaining()));
  }
}

std::int64_t FileStore::add(const std::string& key, std::int64_t amount) {
  check_lengths(key, {});
  const std::scoped_lock guard(mutex_);
  const Lock lock(fd_.get(), path_, Deadline::after(kLockLimit));
  refresh();
  const auto found = values_.find(key);
  const std::int64_t current = found == values_.end() ? 0 : parse_integer(key, found->second);
  const auto sum = static_cast<std::uint64_t>(current) + static_cast<std::uint64_t>(amount);  // wraps around
  append(key, std::to_string(static_cast<std::int64_t>(sum)));
  return static_cast<std::int64_t>(sum);
}

std::string FileStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  check_lengths(key, desired);
  const std::scoped_lock guard(mutex_);
  const Lock lock(fd_.get(), path_, Deadline::after(kLockLimit));
  refresh();
  const auto found = values_.find(key);
  const std::string current = found == values_.end() ? std::string() : found->second;
  if (current != expected) return current;
  append(key, desired);
  return desired;
}

bool FileStore::erase(const std::string& key) {
  check_lengths(key, {});
  const std::scoped_lock guard(mutex_);
  const Lock lock(fd_.get(), path_, Deadline::after(kLockLimit));
  refresh();
  if (!values_.contains(key)) return false;
  append(key, std::nullopt);
  return true;
}

}  // namespace lockstep::store
