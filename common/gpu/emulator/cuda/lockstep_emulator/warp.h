#pragma once
/// @file
/// Shuffles, votes, matches and reductions of a warp (CUDA C++ Programming Guide, "Warp Shuffle Functions" and the
/// sections around it). The lanes of `mask` that have not ended wait for one another.
#include <cstddef>
#include <type_traits>

#include "export.h"
#include "source_place.h"

namespace lockstep::emulator {

/// How a lane names its source lane.
enum class ShuffleKind { kIndex, kUp, kDown, kXor };
enum class VoteKind { kAll, kAny, kBallot };
/// The operation of __reduce_*_sync.
enum class ReduceKind { kAdd, kAddSigned, kMin, kMinSigned, kMax, kMaxSigned, kAnd, kOr, kXor };

/// Replaces `value` (1 to 16 bytes) with another lane's.
LOCKSTEP_EMULATOR_API void shuffle(ShuffleKind kind, unsigned mask, void* value, std::size_t bytes, unsigned argument,
                                   int width, SourcePlace at);
/// For kAll and kAny 0 or 1; for kBallot one bit per lane.
LOCKSTEP_EMULATOR_API unsigned vote(VoteKind kind, unsigned mask, int predicate, SourcePlace at);
/// Lanes of `mask` whose value has the same bytes.
LOCKSTEP_EMULATOR_API unsigned match_any(unsigned mask, const void* value, std::size_t bytes, SourcePlace at);
/// `mask` if all values have the same bytes (`*are_equal` is 1), else 0.
LOCKSTEP_EMULATOR_API unsigned match_all(unsigned mask, const void* value, std::size_t bytes, int* are_equal,
                                         SourcePlace at);
/// The reduction over the lanes of `mask`, in every lane.
LOCKSTEP_EMULATOR_API unsigned reduce(ReduceKind kind, unsigned mask, unsigned value, SourcePlace at);
/// The lanes that reach this line while nothing else in the block can run.
LOCKSTEP_EMULATOR_API unsigned active_mask(SourcePlace at);
/// threadIdx as a rank in the block, modulo 32.
LOCKSTEP_EMULATOR_API unsigned lane_id() noexcept;

/// Types that CUDA can shuffle: numbers of 4 or 8 bytes, and the 16-bit floating-point types (which declare it).
template <typename T>
inline constexpr bool kIsShuffled = std::is_arithmetic_v<T>;

/// `value` of the source lane.
template <typename T>
T shuffled(ShuffleKind kind, unsigned mask, T value, unsigned argument, int width, SourcePlace at) {
  static_assert(kIsShuffled<T>, "CUDA shuffles numbers, __half, __nv_bfloat16 and pairs of these only");
  shuffle(kind, mask, &value, sizeof(T), argument, width, at);
  return value;
}

}  // namespace lockstep::emulator

// clang-format off
template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::shuffled(lockstep::emulator::ShuffleKind::kIndex, mask, value, static_cast<unsigned>(lane), width, at);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::shuffled(lockstep::emulator::ShuffleKind::kUp, mask, value, delta, width, at);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::shuffled(lockstep::emulator::ShuffleKind::kDown, mask, value, delta, width, at);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::shuffled(lockstep::emulator::ShuffleKind::kXor, mask, value, static_cast<unsigned>(lane_mask), width, at);
}
inline int __all_sync(unsigned mask, int predicate, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return static_cast<int>(lockstep::emulator::vote(lockstep::emulator::VoteKind::kAll, mask, predicate, at));
}
inline int __any_sync(unsigned mask, int predicate, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return static_cast<int>(lockstep::emulator::vote(lockstep::emulator::VoteKind::kAny, mask, predicate, at));
}
inline unsigned __ballot_sync(unsigned mask, int predicate, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::vote(lockstep::emulator::VoteKind::kBallot, mask, predicate, at);
}
template <typename T>
unsigned __match_any_sync(unsigned mask, T value, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::match_any(mask, &value, sizeof(T), at);
}
template <typename T>
unsigned __match_all_sync(unsigned mask, T value, int* predicate, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::match_all(mask, &value, sizeof(T), predicate, at);
}
inline unsigned __activemask(lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::active_mask(at);
}

#define LOCKSTEP_EMULATOR_REDUCE(name, type, kind)                                                                          \
  inline type name(unsigned mask, type value,                                                                               \
                   lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {                          \
    return static_cast<type>(                                                                                               \
        lockstep::emulator::reduce(lockstep::emulator::ReduceKind::kind, mask, static_cast<unsigned>(value), at));          \
  }
LOCKSTEP_EMULATOR_REDUCE(__reduce_add_sync, unsigned, kAdd)
LOCKSTEP_EMULATOR_REDUCE(__reduce_add_sync, int, kAddSigned)
LOCKSTEP_EMULATOR_REDUCE(__reduce_min_sync, unsigned, kMin)
LOCKSTEP_EMULATOR_REDUCE(__reduce_min_sync, int, kMinSigned)
LOCKSTEP_EMULATOR_REDUCE(__reduce_max_sync, unsigned, kMax)
LOCKSTEP_EMULATOR_REDUCE(__reduce_max_sync, int, kMaxSigned)
LOCKSTEP_EMULATOR_REDUCE(__reduce_and_sync, unsigned, kAnd)
LOCKSTEP_EMULATOR_REDUCE(__reduce_or_sync, unsigned, kOr)
LOCKSTEP_EMULATOR_REDUCE(__reduce_xor_sync, unsigned, kXor)
#undef LOCKSTEP_EMULATOR_REDUCE
// clang-format on
