#include "device/mapped_pages.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace lockstep {

// Not rounded up to a huge page: the system creates none past the end, so no block takes more memory than requested.
MappedPages::MappedPages(std::size_t bytes) : bytes_((bytes + kPageBytes - 1) / kPageBytes * kPageBytes) {
  // One huge page more than needed, so that an aligned range lies inside; both ends are unmapped at once.
  const std::size_t mapped_bytes = bytes_ + kHugePageBytes;
  void* const mapped = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw IoError(concat("mapping ", mapped_bytes, " bytes of memory"), errno);
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(begin) % kHugePageBytes;
  const std::size_t head = misaligned == 0 ? 0 : kHugePageBytes - misaligned;
  data_ = begin + head;
  if (head > 0) ::munmap(begin, head);
  ::munmap(data_ + bytes_, mapped_bytes - head - bytes_);  // never empty: head is less than the extra huge page
  ::madvise(data_, bytes_, MADV_HUGEPAGE);                 // a hint; failing only costs speed
}

MappedPages::MappedPages(MappedPages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MappedPages& MappedPages::operator=(MappedPages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedPages::discard(std::byte* begin, std::size_t bytes) noexcept {
  ::madvise(begin, bytes, MADV_DONTNEED);  // failing only costs memory
}

MappedPages::~MappedPages() {
  if (data_ == nullptr) return;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(data_, bytes_);  // for the next owner of these addresses
#endif
  ::munmap(data_, bytes_);
}

}  // namespace lockstep
