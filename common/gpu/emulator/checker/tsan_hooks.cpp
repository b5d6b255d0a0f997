// Functions called by g++ and clang in code compiled with -fsanitize=thread; libtsan, their usual provider, is not
// linked. Names and parameters: LLVM compiler-rt, lib/tsan/rtl/tsan_interface.h.
#include <cstddef>
#include <cstring>

#include "emulator/checker/checker.hpp"

namespace {

using lockstep::emulator::checker::Checker;
using lockstep::emulator::checker::kAnyAlignment;
using lockstep::emulator::checker::kPlainRead;
using lockstep::emulator::checker::kWrite;
using lockstep::emulator::checker::Site;

[[gnu::always_inline]] inline void access(const void* address, std::size_t bytes, std::uint64_t flags, void* caller) {
  if (Checker* const checker = Checker::running) checker->check(address, bytes, flags, reinterpret_cast<Site>(caller));
}

}  // namespace

#define LOCKSTEP_HOOK extern "C" LOCKSTEP_EMULATOR_API void
#define LOCKSTEP_CALLER __builtin_return_address(0)
#define LOCKSTEP_ACCESS_HOOKS(bytes)                                                                                  \
  LOCKSTEP_HOOK __tsan_read##bytes(void* p) { access(p, bytes, kPlainRead, LOCKSTEP_CALLER); }                        \
  LOCKSTEP_HOOK __tsan_write##bytes(void* p) { access(p, bytes, kWrite, LOCKSTEP_CALLER); }                           \
  LOCKSTEP_HOOK __tsan_volatile_read##bytes(void* p) { access(p, bytes, kPlainRead, LOCKSTEP_CALLER); }               \
  LOCKSTEP_HOOK __tsan_volatile_write##bytes(void* p) { access(p, bytes, kWrite, LOCKSTEP_CALLER); }                  \
  LOCKSTEP_HOOK __tsan_read_write##bytes(void* p) { access(p, bytes, kWrite, LOCKSTEP_CALLER); }                      \
  LOCKSTEP_HOOK __tsan_unaligned_read##bytes(void* p) { access(p, bytes, kAnyAlignment, LOCKSTEP_CALLER); }           \
  LOCKSTEP_HOOK __tsan_unaligned_write##bytes(void* p) { access(p, bytes, kWrite | kAnyAlignment, LOCKSTEP_CALLER); } \
  LOCKSTEP_HOOK __tsan_unaligned_volatile_read##bytes(void* p) { access(p, bytes, kAnyAlignment, LOCKSTEP_CALLER); }  \
  LOCKSTEP_HOOK __tsan_unaligned_volatile_write##bytes(void* p) {                                                     \
    access(p, bytes, kWrite | kAnyAlignment, LOCKSTEP_CALLER);                                                        \
  }                                                                                                                   \
  LOCKSTEP_HOOK __tsan_unaligned_read_write##bytes(void* p) {                                                         \
    access(p, bytes, kWrite | kAnyAlignment, LOCKSTEP_CALLER);                                                        \
  }

LOCKSTEP_ACCESS_HOOKS(1)
LOCKSTEP_ACCESS_HOOKS(2)
LOCKSTEP_ACCESS_HOOKS(4)
LOCKSTEP_ACCESS_HOOKS(8)
LOCKSTEP_ACCESS_HOOKS(16)

LOCKSTEP_HOOK __tsan_read_range(void* p, std::size_t bytes) { access(p, bytes, kAnyAlignment, LOCKSTEP_CALLER); }
LOCKSTEP_HOOK __tsan_write_range(void* p, std::size_t bytes) {
  access(p, bytes, kWrite | kAnyAlignment, LOCKSTEP_CALLER);
}

// Objects with virtual functions.
LOCKSTEP_HOOK __tsan_vptr_read(void** p) { access(p, sizeof *p, kPlainRead, LOCKSTEP_CALLER); }
LOCKSTEP_HOOK __tsan_vptr_update(void** p, void*) { access(p, sizeof *p, kWrite, LOCKSTEP_CALLER); }

LOCKSTEP_HOOK __tsan_init() {}
LOCKSTEP_HOOK __tsan_func_entry(void*) {}
LOCKSTEP_HOOK __tsan_func_exit() {}
LOCKSTEP_HOOK __tsan_ignore_thread_begin() {}
LOCKSTEP_HOOK __tsan_ignore_thread_end() {}

extern "C" LOCKSTEP_EMULATOR_API void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  access(from, bytes, kAnyAlignment, LOCKSTEP_CALLER);
  access(to, bytes, kWrite | kAnyAlignment, LOCKSTEP_CALLER);
  return std::memcpy(to, from, bytes);
}
extern "C" LOCKSTEP_EMULATOR_API void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  access(from, bytes, kAnyAlignment, LOCKSTEP_CALLER);
  access(to, bytes, kWrite | kAnyAlignment, LOCKSTEP_CALLER);
  return std::memmove(to, from, bytes);
}
extern "C" LOCKSTEP_EMULATOR_API void* __tsan_memset(void* to, int value, std::size_t bytes) {
  access(to, bytes, kWrite | kAnyAlignment, LOCKSTEP_CALLER);
  return std::memset(to, value, bytes);
}

#undef LOCKSTEP_HOOK
