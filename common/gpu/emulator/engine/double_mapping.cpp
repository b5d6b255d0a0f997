#include "emulator/engine/double_mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace lockstep::emulator {
namespace {

std::byte* map_shared(int file, std::size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (mapped == MAP_FAILED) throw IoError(concat("mmap of ", bytes, " bytes of emulated memory"), errno);
  return static_cast<std::byte*>(mapped);
}

}  // namespace

std::size_t page_bytes() {
  static const auto kBytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return kBytes;
}

DoubleMapping::DoubleMapping(std::size_t bytes) : bytes_((bytes + page_bytes() - 1) / page_bytes() * page_bytes()) {
  const UniqueFd file(::memfd_create("lockstep_emulated_memory", MFD_CLOEXEC));
  if (!file.is_open() || ::ftruncate(file.get(), static_cast<off_t>(bytes_)) != 0) {
    throw IoError(concat("memfd_create of ", bytes_, " bytes of emulated memory"), errno);
  }
  program_ = map_shared(file.get(), bytes_);
  try {
    alias_ = map_shared(file.get(), bytes_);
  } catch (...) {
    ::munmap(program_, bytes_);
    throw;
  }
}

DoubleMapping::DoubleMapping(DoubleMapping&& other) noexcept
    : program_(std::exchange(other.program_, nullptr)),
      alias_(std::exchange(other.alias_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DoubleMapping::~DoubleMapping() {
  if (program_ != nullptr) ::munmap(program_, bytes_);
  if (alias_ != nullptr) ::munmap(alias_, bytes_);
}

void DoubleMapping::close(std::size_t offset, std::size_t bytes) const noexcept {
  ::mprotect(program_ + offset, bytes, PROT_NONE);
}

void DoubleMapping::forbid_writes(std::size_t offset, std::size_t bytes) const noexcept {
  ::mprotect(program_ + offset, bytes, PROT_READ);
}

void DoubleMapping::open(std::size_t offset, std::size_t bytes) const noexcept {
  ::mprotect(program_ + offset, bytes, PROT_READ | PROT_WRITE);
}

void DoubleMapping::discard(std::size_t offset, std::size_t bytes) const noexcept {
  const std::size_t first = (offset + page_bytes() - 1) / page_bytes() * page_bytes();
  const std::size_t end = (offset + bytes) / page_bytes() * page_bytes();
  // MADV_REMOVE frees the file's pages, and so those of both mappings.
  if (first < end) ::madvise(alias_ + first, end - first, MADV_REMOVE);
}

}  // namespace lockstep::emulator
