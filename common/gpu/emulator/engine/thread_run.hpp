#pragma once
/// @file
/// The engine's private state of a thread.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/cuda/lockstep_emulator/source_place.h"
#include "emulator/engine/observer.hpp"
#include "emulator/engine/stack_pool.hpp"
#include "emulator/engine/warp_meeting.hpp"

namespace lockstep::emulator {

/// Why a thread is suspended.
enum class WaitKind : std::uint8_t { kNothing, kBarrier, kWarp, kActiveMask, kGrid, kPhaseBarrier, kEnded };

/// A pending cp.async.
struct PendingCopy {
  void* to = nullptr;            ///< Shared memory.
  const void* from = nullptr;    ///< Global memory.
  std::uint32_t bytes = 0;       ///< Bytes written.
  std::uint32_t read_bytes = 0;  ///< Bytes read; zeros fill the rest.
  std::uint32_t group = 0;       ///< Its commit group, from 0.
  SourcePlace place;             ///< Of the cp.async.
};

/// One thread: fits a cache line, because each switch reads one.
struct alignas(64) ThreadRun {
  Fiber* fiber = nullptr;                    ///< Null before the first step and after the last.
  WaitKind wait = WaitKind::kNothing;        ///< Why it is suspended.
  const WarpOperation* operation = nullptr;  ///< The operation that it waits in (kWarp).
  std::uint32_t mask = 0;                    ///< The lanes that it waits for (kWarp).
  std::uint32_t committed_groups = 0;        ///< Number of cp.async groups committed.
  std::vector<PendingCopy> copies;           ///< Oldest first. Keeps its capacity between blocks.
};

/// Describes a thread's position and activity.
ThreadPlace place_of(const ThreadState& state, const ThreadRun& run);
/// Describes a state in which no thread can run. Gives one example per line and operation rather than a full list.
/// @param more  Appended to the message.
EngineFinding describe_deadlock(std::span<const ThreadState> states, std::span<const ThreadRun> runs,
                                std::string_view more);

}  // namespace lockstep::emulator
