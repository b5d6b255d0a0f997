#pragma once
// System calls on the file that SharedMemory shares; not for others.
#include <cstddef>
#include <cstdint>

#include "base/unique_fd.hpp"

namespace lockstep::comm {

// Regions of this size and more begin at a multiple of it, in the file and in memory, so that the kernel can use
// huge pages.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

[[nodiscard]] std::size_t page_bytes() noexcept;

// An empty file without a name; throws IoError. It is sealed: nobody who has its descriptor can make it shorter, which
// would be SIGBUS for all who have it mapped. It can grow.
[[nodiscard]] UniqueFd make_shared_file();

// Whether a file that somebody has sent is sealed like that, and has at least `bytes`.
[[nodiscard]] bool can_be_relied_on(int fd, std::size_t bytes) noexcept;

// Makes the file reach to offset + bytes and reserves memory for the new part, so that no later access can fail for
// want of it (which would be SIGBUS). Returns 0, or an errno, and then the file has no more memory than before.
[[nodiscard]] int extend_shared_file(int fd, std::uint64_t offset, std::size_t bytes) noexcept;

// As above without any memory yet: every part needs reserve_in_shared_file() before it is first used.
[[nodiscard]] int extend_sparse_file(int fd, std::uint64_t offset, std::size_t bytes) noexcept;
// Reserves memory for the pages that these bytes of the file lie on, where they have none yet. Returns 0 or an errno.
[[nodiscard]] int reserve_in_shared_file(int fd, std::uint64_t offset, std::size_t bytes) noexcept;
// Memory that the file has, in bytes.
[[nodiscard]] std::uint64_t reserved_bytes(int fd) noexcept;

// What a mapping asks the kernel for. Of a sparse part a huge page would take memory where little is used.
enum class Pages { kHugeIfLarge, kSmall };

// Maps a part of the file; null and errno where that fails.
[[nodiscard]] std::byte* map_shared_file(int fd, std::uint64_t offset, std::size_t bytes,
                                         Pages pages = Pages::kHugeIfLarge) noexcept;
void unmap_shared_file(std::byte* data, std::size_t bytes) noexcept;

}  // namespace lockstep::comm
