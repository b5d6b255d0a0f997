#include "base/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace lockstep {

namespace {

UniqueFd open_or_throw(const std::filesystem::path& path, int flags, const char* what) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) throw IoError(concat(what, " ", path.string()), errno);
  return UniqueFd(fd);
}

void sync_or_throw(int fd, const std::filesystem::path& path) {
  while (::fsync(fd) != 0)
    if (errno != EINTR) throw IoError(concat("fsync of ", path.string()), errno);
}

}  // namespace

void read_in_pieces(const std::filesystem::path& path, const std::function<void(std::string_view)>& use) {
  const UniqueFd fd = open_or_throw(path, O_RDONLY, "reading");
  std::array<char, 65536> piece{};
  for (;;) {
    const ssize_t count = ::read(fd.get(), piece.data(), piece.size());
    if (count == 0) return;
    if (count > 0)
      use({piece.data(), static_cast<std::size_t>(count)});
    else if (errno != EINTR)
      throw IoError(concat("reading ", path.string()), errno);
  }
}

std::string read_file(const std::filesystem::path& path) {
  std::string bytes;
  read_in_pieces(path, [&bytes](std::string_view piece) { bytes.append(piece); });
  return bytes;
}

void write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(count));
    else if (errno != EINTR)
      throw IoError(concat("writing ", path.string()), errno);
  }
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  const UniqueFd fd = open_or_throw(path, O_WRONLY | O_CREAT | O_TRUNC, "creating");
  write_all(fd.get(), bytes, path);
  sync_or_throw(fd.get(), path);
}

void sync_to_disk(const std::filesystem::path& path) {
  const UniqueFd fd = open_or_throw(path, O_RDONLY, "opening");
  sync_or_throw(fd.get(), path);
}

}  // namespace lockstep
