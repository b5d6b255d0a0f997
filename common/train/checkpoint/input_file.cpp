#include "checkpoint/input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace lockstep::checkpoint {

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd_.is_open()) throw IoError("opening " + path_.string(), errno);
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) throw IoError("reading the size of " + path_.string(), errno);
  if (S_ISDIR(status.st_mode)) throw IoError("reading " + path_.string(), EISDIR);
  bytes_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> destination) const {
  while (!destination.empty()) {
    const ssize_t count = ::pread(fd_.get(), destination.data(), destination.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw IoError(concat("reading ", path_.string(), " at offset ", offset), errno);
    if (count == 0) {
      throw FormatError(concat(path_.string(), " ends at byte ", offset, ", and had ", bytes_,
                               " bytes when it was opened: another program is changing it. Try again when it is "
                               "complete"));
    }
    offset += static_cast<std::uint64_t>(count);
    destination = destination.subspan(static_cast<std::size_t>(count));
  }
}

std::string InputFile::beginning(std::size_t count) const {
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(count, bytes_)), '\0');
  read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace lockstep::checkpoint
