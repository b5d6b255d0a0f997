#pragma once
/// @file
/// Groups of threads within a block, for <cooperative_groups.h>: the block, tiles of a warp, and the active lanes.
#include <bit>
#include <type_traits>

#include "builtin_variables.h"
#include "lanes.h"
#include "source_place.h"
#include "synchronization.h"
#include "warp.h"

/// The place of the call, as a last parameter that callers omit.
#define LOCKSTEP_EMULATOR_AT lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()

namespace cooperative_groups {

/// All threads of a block.
class thread_block {
 public:
  static void sync(LOCKSTEP_EMULATOR_AT) {
    lockstep::emulator::sync_block(lockstep::emulator::BarrierResult::kNothing, 0, at);
  }
  static unsigned thread_rank() noexcept { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
  static unsigned num_threads() noexcept { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned size() noexcept { return num_threads(); }
  static dim3 group_index() noexcept { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static dim3 thread_index() noexcept { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
  static dim3 group_dim() noexcept { return blockDim; }
  static dim3 dim_threads() noexcept { return blockDim; }
};
inline thread_block this_thread_block() noexcept { return {}; }

/// Operations of lanes, for the two kinds of groups inside a warp. Ranks count within the group.
class LaneOperations {
 public:
  [[nodiscard]] const lockstep::emulator::Lanes& lanes() const noexcept { return lanes_; }
  void sync(LOCKSTEP_EMULATOR_AT) const { lanes_.sync(at); }
  [[nodiscard]] unsigned thread_rank() const noexcept { return lanes_.rank(); }
  /// Which part of its parent the group is.
  [[nodiscard]] unsigned meta_group_rank() const noexcept { return meta_rank_; }
  [[nodiscard]] unsigned meta_group_size() const noexcept { return meta_count_; }

  template <typename T>
  T shfl(T value, unsigned rank, LOCKSTEP_EMULATOR_AT) const {
    return lanes_.value_of(value, rank % lanes_.count(), at);
  }
  template <typename T>
  T shfl_up(T value, unsigned delta, LOCKSTEP_EMULATOR_AT) const {
    return lanes_.value_of(value, thread_rank() - delta, at);
  }
  template <typename T>
  T shfl_down(T value, unsigned delta, LOCKSTEP_EMULATOR_AT) const {
    return lanes_.value_of(value, thread_rank() + delta, at);
  }
  [[nodiscard]] int any(int predicate, LOCKSTEP_EMULATOR_AT) const {
    return static_cast<int>(vote(lockstep::emulator::VoteKind::kAny, lanes_.mask(), predicate, at));
  }
  [[nodiscard]] int all(int predicate, LOCKSTEP_EMULATOR_AT) const {
    return static_cast<int>(vote(lockstep::emulator::VoteKind::kAll, lanes_.mask(), predicate, at));
  }
  /// Bit i is the predicate of rank i.
  [[nodiscard]] unsigned ballot(int predicate, LOCKSTEP_EMULATOR_AT) const {
    return lanes_.to_ranks(vote(lockstep::emulator::VoteKind::kBallot, lanes_.mask(), predicate, at));
  }
  template <typename T>
  [[nodiscard]] unsigned match_any(T value, LOCKSTEP_EMULATOR_AT) const {
    return lanes_.to_ranks(lockstep::emulator::match_any(lanes_.mask(), &value, sizeof(T), at));
  }
  template <typename T>
  [[nodiscard]] unsigned match_all(T value, int& are_equal, LOCKSTEP_EMULATOR_AT) const {
    return lanes_.to_ranks(lockstep::emulator::match_all(lanes_.mask(), &value, sizeof(T), &are_equal, at));
  }

 protected:
  LaneOperations(unsigned mask, unsigned meta_rank, unsigned meta_count) noexcept
      : lanes_(mask), meta_rank_(meta_rank), meta_count_(meta_count) {}

 private:
  lockstep::emulator::Lanes lanes_;
  unsigned meta_rank_;
  unsigned meta_count_;
};

/// Lanes found at run time. Its size is the number of lanes.
class coalesced_group : public LaneOperations {
 public:
  explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_count = 1) noexcept
      : LaneOperations(mask, meta_rank, meta_count) {}
  [[nodiscard]] unsigned num_threads() const noexcept { return lanes().count(); }
  [[nodiscard]] unsigned size() const noexcept { return num_threads(); }
};
/// The lanes that reach this line together.
[[nodiscard]] inline coalesced_group coalesced_threads(LOCKSTEP_EMULATOR_AT) {
  return coalesced_group(lockstep::emulator::active_mask(at));
}

/// `Size` neighbouring lanes: a power of two, at most a warp.
template <unsigned Size, typename Parent = void>
class thread_block_tile : public LaneOperations {
  static_assert(std::has_single_bit(Size) && Size <= 32,
                "the emulator has tiles of 1, 2, 4, 8, 16 and 32 threads; larger ones meet in __syncthreads()");

 public:
  /// Internal: tiled_partition() makes tiles.
  thread_block_tile(unsigned meta_rank, unsigned meta_count) noexcept
      : LaneOperations((Size == 32 ? ~0U : (1U << Size % 32) - 1U) << (lockstep::emulator::lane_id() & ~(Size - 1U)),
                       meta_rank, meta_count) {}
  /// Forgets the parent.
  template <typename Other>
  thread_block_tile(const thread_block_tile<Size, Other>& other) noexcept
      : thread_block_tile(other.meta_group_rank(), other.meta_group_size()) {}
  static constexpr unsigned num_threads() noexcept { return Size; }
  static constexpr unsigned size() noexcept { return Size; }

  template <typename T>
  T shfl_xor(T value, unsigned lane_mask, LOCKSTEP_EMULATOR_AT) const {
    return lanes().value_of(value, thread_rank() ^ lane_mask, at);
  }
};

/// Any group, of a kind known at run time.
class thread_group {
 public:
  thread_group(const thread_block&) noexcept {}
  thread_group(const LaneOperations& lanes) noexcept : mask_(lanes.lanes().mask()) {}
  void sync(LOCKSTEP_EMULATOR_AT) const {
    if (mask_ == 0) return thread_block::sync(at);
    lockstep::emulator::sync_warp(mask_, at);
  }
  [[nodiscard]] unsigned thread_rank() const noexcept {
    return mask_ == 0 ? thread_block::thread_rank() : lockstep::emulator::Lanes(mask_).rank();
  }
  [[nodiscard]] unsigned num_threads() const noexcept {
    return mask_ == 0 ? thread_block::num_threads() : static_cast<unsigned>(std::popcount(mask_));
  }
  [[nodiscard]] unsigned size() const noexcept { return num_threads(); }
  [[nodiscard]] unsigned mask() const noexcept { return mask_; }

 private:
  unsigned mask_ = 0;  // of lanes; 0: the block
};

}  // namespace cooperative_groups
