#pragma once
/// @file
/// Switching between computations, each with a stack of its own: what one block's threads run on.
#include <cstddef>
#include <span>

// The portable way where no switch is written for the processor, or where a test asks for it.
#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(LOCKSTEP_EMULATOR_UCONTEXT)
#define LOCKSTEP_EMULATOR_UCONTEXT
#endif
#if defined(LOCKSTEP_EMULATOR_UCONTEXT)
#include <ucontext.h>
#endif

namespace lockstep::emulator {

/// Where a computation goes on when it is switched to. A context that has been prepared must not move.
struct FiberContext {
#if defined(LOCKSTEP_EMULATOR_UCONTEXT)
  ucontext_t state{};
#else
  void* stack_pointer = nullptr;  ///< The registers that calls preserve lie there.
#endif
};

/// Makes `context` begin in `entry` on `stack` when it is first switched to. `entry` must never return.
void prepare_fiber(FiberContext& context, std::span<std::byte> stack, void (*entry)());

/// Keeps the caller's place in `from` and goes on at `to`. Returns when somebody switches to `from`.
/// The other side may do so on another operating-system thread: what is switched keeps no addresses of thread-local
/// variables across a switch.
void switch_fiber(FiberContext& from, FiberContext& to) noexcept;

}  // namespace lockstep::emulator
