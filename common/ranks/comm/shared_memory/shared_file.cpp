#include "comm/shared_memory/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/round_up.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; glibc 2.35 has it
#endif

namespace lockstep::comm {
namespace {

// posix_fallocate() reserves small pages. Touching the part through a mapping that requests huge pages allocates those
// if the system allows it (/sys/kernel/mm/transparent_hugepage/shmem_enabled is `advise` or more). If not, or if memory
// is short, nothing is lost: posix_fallocate() comes next and reports it.
void touch_with_huge_pages(int fd, std::uint64_t offset, std::size_t bytes) noexcept {
  std::byte* const data = map_shared_file(fd, offset, bytes);
  if (data == nullptr) return;
  (void)::madvise(data, bytes, MADV_POPULATE_WRITE);
  unmap_shared_file(data, bytes);
}

}  // namespace

std::size_t page_bytes() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

UniqueFd make_shared_file() {
  UniqueFd file(::memfd_create("lockstep", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) throw IoError("memfd_create", errno);
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) throw IoError("sealing shared memory", errno);
  return file;
}

bool can_be_relied_on(int fd, std::size_t bytes) noexcept {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  struct stat status {};
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd, &status) != 0) return false;
  return static_cast<std::uint64_t>(status.st_size) >= bytes;
}

int extend_sparse_file(int fd, std::uint64_t offset, std::size_t bytes) noexcept {
  const off_t old_end = ::lseek(fd, 0, SEEK_END), new_end = static_cast<off_t>(offset + bytes);
  return old_end < 0 || (new_end > old_end && ::ftruncate(fd, new_end) != 0) ? errno : 0;
}

int reserve_in_shared_file(int fd, std::uint64_t offset, std::size_t bytes) noexcept {
  int error = 0;
  do {
    error = ::posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error;
}

std::uint64_t reserved_bytes(int fd) noexcept {
  constexpr std::uint64_t kBlockBytes = 512;  // stat(2) counts in these on every file system
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? kBlockBytes * static_cast<std::uint64_t>(status.st_blocks) : 0;
}

int extend_shared_file(int fd, std::uint64_t offset, std::size_t bytes) noexcept {
  if (const int error = extend_sparse_file(fd, offset, bytes); error != 0) return error;
  if (bytes >= kHugePageBytes) touch_with_huge_pages(fd, offset, bytes);
  const int error = reserve_in_shared_file(fd, offset, bytes);
  if (error == 0) return 0;
  // The file cannot shrink again, but it can release its memory.
  (void)::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(bytes));
  return error;
}

std::byte* map_shared_file(int fd, std::uint64_t offset, std::size_t bytes, Pages pages) noexcept {
  const bool is_huge = pages == Pages::kHugeIfLarge && bytes >= kHugePageBytes;
  const std::size_t alignment = is_huge ? kHugePageBytes : page_bytes();
  // Address range that contains an aligned part; the rest is unmapped.
  const std::size_t reserved = bytes + alignment;
  void* const range = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(range);
  const std::size_t before =
      round_up(reinterpret_cast<std::uintptr_t>(first), alignment) - reinterpret_cast<std::uintptr_t>(first);
  std::byte* const data = first + before;
  void* const mapped =
      ::mmap(data, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) {
    const int error = errno;
    ::munmap(range, reserved);
    errno = error;
    return nullptr;
  }
  if (before > 0) ::munmap(first, before);
  if (alignment > before) ::munmap(data + bytes, alignment - before);
  (void)::madvise(data, bytes, MADV_DONTFORK);  // a child would write into the job's memory
  if (is_huge) (void)::madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

void unmap_shared_file(std::byte* data, std::size_t bytes) noexcept { ::munmap(data, bytes); }

}  // namespace lockstep::comm
