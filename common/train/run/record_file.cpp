#include "run/record_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"

namespace lockstep::run {
namespace {

// Always 0 for a pipe or a device.
off_t end_of(int fd) { return std::max<off_t>(::lseek(fd, 0, SEEK_END), 0); }

std::string read_at(int fd, off_t begin, off_t end, const std::filesystem::path& path) {
  std::string bytes(static_cast<std::size_t>(end - begin), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::pread(fd, bytes.data() + done, bytes.size() - done, begin + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw IoError(concat("reading the end of ", path.string()), errno);
    if (count == 0) bytes.resize(done);  // the file has been shortened meanwhile
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

// Where the file's last whole line ends; 0: it has none.
off_t end_of_lines(int fd, off_t end, const std::filesystem::path& path) {
  constexpr off_t kBlock = 4096;
  while (end > 0) {
    const off_t begin = std::max<off_t>(end - kBlock, 0);
    const std::size_t feed = read_at(fd, begin, end, path).rfind('\n');
    if (feed != std::string::npos) return begin + static_cast<off_t>(feed) + 1;  // after it
    end = begin;
  }
  return 0;
}

}  // namespace

bool is_still_at(const std::filesystem::path& path, int fd) noexcept {
  struct stat named {};
  struct stat opened {};
  if (::fstat(fd, &opened) != 0) return true;  // the next write reports it
  if (::stat(path.c_str(), &named) != 0) return errno != ENOENT && errno != ENOTDIR;
  return named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

RecordFile::RecordFile(std::filesystem::path path, Records records)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (!file_.is_open()) throw IoError(concat("opening ", path_.string()), errno);
  if (records == Records::kLines) remove_torn_line();
}

void RecordFile::remove_torn_line() {
  const off_t end = end_of(file_.get()), whole = end_of_lines(file_.get(), end, path_);
  if (whole == end) return;
  if (::ftruncate(file_.get(), whole) != 0) throw IoError(concat("removing half a line from ", path_.string()), errno);
  Logger().warning(concat(path_.string(), " ended in half a line of ", end - whole, " bytes, which is removed"));
}

void RecordFile::append(std::string_view record) {
  const off_t before = end_of(file_.get());
  try {
    write_all(file_.get(), record, path_);
  } catch (const IoError&) {
    // The error is reported whether or not the partial record can be removed.
    [[maybe_unused]] const int is_cut = ::ftruncate(file_.get(), before);
    throw;
  }
}

}  // namespace lockstep::run
