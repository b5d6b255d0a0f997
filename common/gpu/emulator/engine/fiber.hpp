#pragma once
/// @file
/// Switching between computations with separate stacks; a block's threads run on them.
#include <cstddef>
#include <span>

// Use ucontext if there is no switch for this processor, or if a test requests it.
#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(LOCKSTEP_EMULATOR_UCONTEXT)
#define LOCKSTEP_EMULATOR_UCONTEXT
#endif
#if defined(LOCKSTEP_EMULATOR_UCONTEXT)
#include <ucontext.h>
#endif

namespace lockstep::emulator {

/// The point where a suspended computation continues. A prepared context must not move.
struct FiberContext {
#if defined(LOCKSTEP_EMULATOR_UCONTEXT)
  ucontext_t state{};
#else
  void* stack_pointer = nullptr;  ///< The callee-saved registers are stored there.
#endif
};

/// Prepares `context` to run `entry` on `stack` at the first switch to it. `entry` must never return.
void prepare_fiber(FiberContext& context, std::span<std::byte> stack, void (*entry)());

/// Saves the caller's position in `from` and continues at `to`. Returns after a switch to `from`, which may happen on
/// another operating-system thread: code that switches must not keep addresses of thread-local variables across a
/// switch.
void switch_fiber(FiberContext& from, FiberContext& to) noexcept;

/// The bytes of `stack` that a suspended computation may still need.
[[nodiscard]] inline std::span<std::byte> used_stack([[maybe_unused]] const FiberContext& context,
                                                     std::span<std::byte> stack) noexcept {
#if defined(LOCKSTEP_EMULATOR_UCONTEXT)
  return stack;
#else
  return stack.subspan(static_cast<std::size_t>(static_cast<std::byte*>(context.stack_pointer) - stack.data()));
#endif
}

}  // namespace lockstep::emulator
