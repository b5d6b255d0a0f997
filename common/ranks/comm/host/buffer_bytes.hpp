#pragma once
/// @file
/// Buffers in host memory as bytes.
#include <cstring>
#include <span>

#include "comm/buffer.hpp"

namespace lockstep::comm {

/// The bytes of host memory that a buffer names.
[[nodiscard]] inline std::span<std::byte> bytes_of(const Buffer& buffer) noexcept {
  return {static_cast<std::byte*>(buffer.data), static_cast<std::size_t>(buffer.bytes())};
}

/// Part `index` of a buffer that holds `parts` parts of equal size.
[[nodiscard]] inline std::span<std::byte> part_of(const Buffer& buffer, int index, int parts) noexcept {
  const std::size_t bytes = static_cast<std::size_t>(buffer.bytes()) / static_cast<std::size_t>(parts);
  return bytes_of(buffer).subspan(static_cast<std::size_t>(index) * bytes, bytes);
}

/// Copies unless both are the same memory.
inline void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from) noexcept {
  if (!from.empty() && to.data() != from.data()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace lockstep::comm
