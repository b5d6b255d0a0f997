#pragma once
/// @file
/// What the engine knows of a thread beside its public state.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/engine/observer.hpp"
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

/// One thread: a cache line, since each switch reads one.
struct alignas(64) ThreadRun {
  Fiber* fiber = nullptr;                    ///< Null before the first step and after the last.
  WaitKind wait = WaitKind::kNothing;        ///< Why it does not run.
  const WarpOperation* operation = nullptr;  ///< What it waits in (kWarp).
  std::uint32_t mask = 0;                    ///< With whom (kWarp).
  std::uint32_t committed_groups = 0;        ///< cp.async groups that are closed.
  std::vector<PendingCopy> copies;           ///< Oldest first. Keeps its memory from block to block.
};

/// Where a thread is and what it does there, in words.
ThreadPlace place_of(const ThreadState& state, const ThreadRun& run);
/// No thread can run and none has ended the kernel. One example per line and operation says more than a list of all.
EngineFinding describe_deadlock(std::span<const ThreadState> states, std::span<const ThreadRun> runs);

}  // namespace lockstep::emulator
