#pragma once
// System calls on the file of SharedMemory. Internal to this module.
#include <cstddef>
#include <cstdint>

#include "base/unique_fd.hpp"

namespace lockstep::comm {

// Regions of at least this size begin at a multiple of it, in the file and in memory, so that the kernel can use huge
// pages.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

[[nodiscard]] std::size_t page_bytes() noexcept;

// Makes an empty file without a name; throws IoError. The file can grow, but is sealed against shrinking, which would
// raise SIGBUS in every process that has it mapped.
[[nodiscard]] UniqueFd make_shared_file();

// True if a received file is sealed in this way and has at least `bytes`.
[[nodiscard]] bool can_be_relied_on(int fd, std::size_t bytes) noexcept;

// Extends the file to offset + bytes and reserves memory for the new part, so that no later access raises SIGBUS for
// lack of memory. Returns 0 or an errno; on error the file has no more memory than before.
[[nodiscard]] int extend_shared_file(int fd, std::uint64_t offset, std::size_t bytes) noexcept;

// As above, without reserving memory: every part needs reserve_in_shared_file() before its first use.
[[nodiscard]] int extend_sparse_file(int fd, std::uint64_t offset, std::size_t bytes) noexcept;
// Reserves memory for those pages of this range that have none yet. Returns 0 or an errno.
[[nodiscard]] int reserve_in_shared_file(int fd, std::uint64_t offset, std::size_t bytes) noexcept;
// Memory allocated to the file.
[[nodiscard]] std::uint64_t reserved_bytes(int fd) noexcept;

// Page size to request for a mapping. In a sparse part, huge pages would allocate memory that is mostly unused.
enum class Pages { kHugeIfLarge, kSmall };

// Maps a part of the file. On failure returns null and sets errno.
[[nodiscard]] std::byte* map_shared_file(int fd, std::uint64_t offset, std::size_t bytes,
                                         Pages pages = Pages::kHugeIfLarge) noexcept;
void unmap_shared_file(std::byte* data, std::size_t bytes) noexcept;

}  // namespace lockstep::comm
