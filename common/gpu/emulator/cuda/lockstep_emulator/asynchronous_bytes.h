#pragma once
/// @file
/// Asynchronous copies of any number of bytes, shared by the threads of a group.
#include <cstddef>
#include <cstdint>

#include "copies_apart.h"
#include "source_place.h"
#include "tensor_core.h"

namespace lockstep::emulator {
LOCKSTEP_EMULATOR_COPY {
  /// Issues the share of the thread `rank` of `threads`: pieces of 16, 8 or 4 bytes, as the addresses allow. What
  /// cannot be copied so is copied at once.
  inline void copy_bytes_async(void* to, const void* from, std::size_t bytes, std::size_t rank, std::size_t threads,
                               SourcePlace at) {
    auto* const target = static_cast<std::byte*>(to);
    const auto* const source = static_cast<const std::byte*>(from);
    const std::uintptr_t alignment = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    const std::size_t piece = alignment % 16 == 0 ? 16 : alignment % 8 == 0 ? 8 : alignment % 4 == 0 ? 4 : 1;
    const std::size_t pieces = piece == 1 ? 0 : bytes / piece;
    for (std::size_t i = rank; i < pieces; i += threads) {
      copy_async(target + i * piece, source + i * piece, piece, piece, at);
    }
    for (std::size_t i = pieces * piece + rank; i < bytes; i += threads) target[i] = source[i];
  }
}

}  // namespace lockstep::emulator
