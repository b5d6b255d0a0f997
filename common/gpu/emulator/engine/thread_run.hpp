#pragma once
/// @file
/// What the scheduler knows of a thread and of a warp beside their public state.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/engine/stack_pool.hpp"
#include "emulator/engine/warp_meeting.hpp"

namespace lockstep::emulator {

/// Why a thread does not run.
enum class WaitKind : std::uint8_t { kNothing, kBarrier, kWarp, kActiveMask, kEnded };

/// A cp.async that has not happened yet.
struct PendingCopy {
  void* to = nullptr;            ///< Shared memory.
  const void* from = nullptr;    ///< Global memory.
  std::uint32_t bytes = 0;       ///< Written.
  std::uint32_t read_bytes = 0;  ///< Read; zeros fill the rest.
  std::uint32_t group = 0;       ///< The commit that it belongs to, counted from 0.
  SourcePlace place;             ///< Of the cp.async.
};

/// One thread.
struct ThreadRun {
  Fiber* fiber = nullptr;                    ///< Null before the first step and after the last.
  WaitKind wait = WaitKind::kNothing;        ///< Why it does not run.
  const WarpOperation* operation = nullptr;  ///< What it waits in (kWarp).
  std::uint32_t mask = 0;                    ///< With whom (kWarp), or the answer (kActiveMask).
  std::uint32_t place_in_order = 0;          ///< Its turn.
  std::uint32_t committed_groups = 0;        ///< cp.async groups that are closed.
  std::vector<PendingCopy> copies;           ///< Oldest first. Keeps its memory from block to block.
};

/// Lanes that wait in the same operation with the same mask.
struct WarpGroup {
  const WarpOperation* operation = nullptr;  ///< What they do.
  std::size_t bytes = 0;                     ///< Of a value: lanes with another size do not meet these.
  std::uint32_t mask = 0;                    ///< What they gave.
  std::uint32_t arrived = 0;                 ///< Who has come.
};

/// One warp.
struct Warp {
  std::uint32_t live = 0;             ///< Lanes that exist and have not ended.
  std::uint32_t group_count = 0;      ///< Of `groups`.
  std::array<WarpGroup, 32> groups;   ///< A lane waits in one of them at most.
  std::array<LaneCall*, 32> calls{};  ///< What the waiting lanes brought.
};

}  // namespace lockstep::emulator
