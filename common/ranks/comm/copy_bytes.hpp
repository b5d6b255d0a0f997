#pragma once
/// @file
/// Copying between private and shared memory.
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace lockstep::comm {

/// memcpy in pieces that the C library copies with vector instructions. For longer copies it uses `rep movsb`, which
/// took twice as long here (AMD EPYC 9005, glibc 2.36) for blocks in another core's cache.
/// @param to     Host memory, [bytes].
/// @param from   Host memory, [bytes]; does not overlap `to`.
/// @param bytes  May be 0.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  constexpr std::size_t kPieceBytes = 2048;
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const std::size_t piece = std::min(bytes, kPieceBytes);
    std::memcpy(target, source, piece);
    target += piece;
    source += piece;
    bytes -= piece;
  }
}

}  // namespace lockstep::comm
