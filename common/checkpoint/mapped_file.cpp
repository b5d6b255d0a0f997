#include "checkpoint/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::checkpoint {

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) throw IoError("opening " + path_.string(), errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw IoError("reading the size of " + path_.string(), errno);
  const auto byte_count = static_cast<std::size_t>(status.st_size);
  if (byte_count == 0) return;  // nothing to map, and mmap refuses it
  void* address = ::mmap(nullptr, byte_count, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) throw IoError("mapping " + path_.string(), errno);
  bytes_ = {static_cast<const std::byte*>(address), byte_count};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace lockstep::checkpoint
