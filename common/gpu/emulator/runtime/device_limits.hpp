#pragma once
/// @file
/// The limits that an emulated device reports: an H100's if kernels are checked against them (CUDA C++ Programming
/// Guide, "Compute Capabilities", table "Technical Specifications per Compute Capability", column 9.0).
#include <cstddef>

namespace lockstep::emulator::limits {

inline constexpr int kWarpThreads = 32;
inline constexpr int kBlockThreads = 1024;
inline constexpr int kBlockX = 1024;
inline constexpr int kBlockY = 1024;
inline constexpr int kBlockZ = 64;
inline constexpr int kGridX = 2147483647;
inline constexpr int kGridYZ = 65535;
inline constexpr int kMultiprocessorThreads = 2048;
inline constexpr int kMultiprocessorBlocks = 32;
inline constexpr int kRegisters = 65536;
inline constexpr int kLeastPriority = 0;      // of streams: lower numbers run first
inline constexpr int kGreatestPriority = -1;  // an H100 has more
inline constexpr int kMultiprocessors = 132;
inline constexpr std::size_t kSharedBytes = 48 * 1024;        // per block, by default
inline constexpr std::size_t kSharedOptInBytes = 227 * 1024;  // per block, on request
inline constexpr std::size_t kSharedReservedBytes = 1024;     // per block, used by CUDA
inline constexpr std::size_t kSharedMultiprocessorBytes = 228 * 1024;
inline constexpr std::size_t kConstantBytes = 64 * 1024;
inline constexpr int kCacheBytes = 50 * 1024 * 1024;

}  // namespace lockstep::emulator::limits
