#include "emulator/engine/fiber.hpp"

#include <cstdint>
#include <cstring>

// A switch saves the callee-saved registers, exchanges stacks, and returns on the other one. Signal masks and
// floating-point modes are not switched: kernels change neither. ucontext also saves the signal mask, by a system call:
// ten times slower.

namespace lockstep::emulator {

#if defined(LOCKSTEP_EMULATOR_UCONTEXT)

void prepare_fiber(FiberContext& context, std::span<std::byte> stack, void (*entry)()) {
  getcontext(&context.state);
  context.state.uc_stack.ss_sp = stack.data();
  context.state.uc_stack.ss_size = stack.size();
  context.state.uc_link = nullptr;
  makecontext(&context.state, entry, 0);
}

void switch_fiber(FiberContext& from, FiberContext& to) noexcept { swapcontext(&from.state, &to.state); }

#else

#if defined(__x86_64__)

// System V ABI, AMD64 supplement, 3.2.1: rbx, rbp and r12 to r15 are callee-saved.
asm(R"(
.text
.p2align 4
.globl lockstep_emulator_switch
.hidden lockstep_emulator_switch
.type lockstep_emulator_switch, @function
lockstep_emulator_switch:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lockstep_emulator_switch, .-lockstep_emulator_switch
)");

namespace {
constexpr std::size_t kSavedWords = 6;
constexpr std::size_t kEntryWord = 6;   // `ret` takes it
constexpr std::size_t kFrameWords = 8;  // rsp is then 8 modulo 16, as after a call; the last word ends backtraces
}  // namespace

#else

// Procedure Call Standard for the Arm 64-bit Architecture, 6.1: x19 to x29, sp and the low halves of v8 to v15 are
// callee-saved; x30 holds the return address.
asm(R"(
.text
.p2align 4
.globl lockstep_emulator_switch
.hidden lockstep_emulator_switch
.type lockstep_emulator_switch, %function
lockstep_emulator_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size lockstep_emulator_switch, .-lockstep_emulator_switch
)");

namespace {
constexpr std::size_t kSavedWords = 20;
constexpr std::size_t kEntryWord = 11;   // x30
constexpr std::size_t kFrameWords = 20;  // leaves sp at the stack's end, a multiple of 16
}  // namespace

#endif

extern "C" void lockstep_emulator_switch(void** from, void* to);

void prepare_fiber(FiberContext& context, std::span<std::byte> stack, void (*entry)()) {
  static_assert(kSavedWords <= kFrameWords);
  const auto end = reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()) / 16 * 16;
  auto* frame = reinterpret_cast<std::uintptr_t*>(end) - kFrameWords;
  std::memset(frame, 0, kFrameWords * sizeof *frame);
  frame[kEntryWord] = reinterpret_cast<std::uintptr_t>(entry);
  context.stack_pointer = frame;
}

void switch_fiber(FiberContext& from, FiberContext& to) noexcept {
  lockstep_emulator_switch(&from.stack_pointer, to.stack_pointer);
}

#endif

}  // namespace lockstep::emulator
