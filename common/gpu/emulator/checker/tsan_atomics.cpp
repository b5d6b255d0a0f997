// Atomics of code compiled with -fsanitize=thread. The compiler leaves the operation itself to these functions, in host
// code too. Names and parameters: LLVM compiler-rt, lib/tsan/rtl/tsan_interface_atomic.cpp.
#include <cstdint>

#include "emulator/checker/checker.hpp"

namespace {

using lockstep::emulator::checker::Checker;
using lockstep::emulator::checker::kAtomic;
using lockstep::emulator::checker::kPlainRead;
using lockstep::emulator::checker::kStoreOnly;
using lockstep::emulator::checker::kWrite;
using lockstep::emulator::checker::Site;

__extension__ using Wide = __int128;

// Release, acquire-release, sequentially consistent.
bool releases(int order) { return order >= __ATOMIC_RELEASE; }

[[gnu::always_inline]] inline void note(const volatile void* address, std::size_t bytes, int order, std::uint64_t flags,
                                        void* caller, const void* expected = nullptr) {
  Checker* const checker = Checker::running;
  // CUDA has no one-byte atomics. Such a load comes from the compiler: it tests if a __shared__ array of objects, which
  // is a static variable here, has been constructed.
  if (checker == nullptr || (bytes == 1 && (flags & kWrite) == 0)) return;
  const bool is_release = (flags & kWrite) != 0 && releases(order);
  checker->check_atomic(const_cast<const void*>(address), bytes, is_release, flags, reinterpret_cast<Site>(caller),
                        expected);
}

}  // namespace

#define LOCKSTEP_HOOK(type) extern "C" LOCKSTEP_EMULATOR_API type
#define LOCKSTEP_NOTE(flags) note(p, sizeof *p, order, kAtomic | (flags), __builtin_return_address(0))
#define LOCKSTEP_NOTE_EXCHANGE(expected) \
  note(p, sizeof *p, order, kAtomic | kWrite, __builtin_return_address(0), expected)
#define LOCKSTEP_FETCH_HOOK(bits, type, operation)                                                       \
  LOCKSTEP_HOOK(type) __tsan_atomic##bits##_fetch_##operation(volatile type* p, type value, int order) { \
    LOCKSTEP_NOTE(kWrite);                                                                               \
    return __atomic_fetch_##operation(p, value, __ATOMIC_SEQ_CST);                                       \
  }
#define LOCKSTEP_EXCHANGE_HOOK(bits, type, strength, is_weak)                                                         \
  LOCKSTEP_HOOK(int)                                                                                                  \
  __tsan_atomic##bits##_compare_exchange_##strength(volatile type* p, type* expected, type desired, int order, int) { \
    LOCKSTEP_NOTE_EXCHANGE(expected);                                                                                 \
    return __atomic_compare_exchange_n(p, expected, desired, is_weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ? 1 : 0;    \
  }
#define LOCKSTEP_ATOMIC_HOOKS(bits, type)                                                                     \
  LOCKSTEP_HOOK(type) __tsan_atomic##bits##_load(const volatile type* p, int order) {                         \
    LOCKSTEP_NOTE(kPlainRead);                                                                                \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                              \
  }                                                                                                           \
  LOCKSTEP_HOOK(void) __tsan_atomic##bits##_store(volatile type* p, type value, int order) {                  \
    LOCKSTEP_NOTE(kWrite | kStoreOnly);                                                                       \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                             \
  }                                                                                                           \
  LOCKSTEP_HOOK(type) __tsan_atomic##bits##_exchange(volatile type* p, type value, int order) {               \
    LOCKSTEP_NOTE(kWrite);                                                                                    \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                           \
  LOCKSTEP_FETCH_HOOK(bits, type, add)                                                                        \
  LOCKSTEP_FETCH_HOOK(bits, type, sub)                                                                        \
  LOCKSTEP_FETCH_HOOK(bits, type, and)                                                                        \
  LOCKSTEP_FETCH_HOOK(bits, type, or)                                                                         \
  LOCKSTEP_FETCH_HOOK(bits, type, xor)                                                                        \
  LOCKSTEP_FETCH_HOOK(bits, type, nand)                                                                       \
  LOCKSTEP_EXCHANGE_HOOK(bits, type, strong, false)                                                           \
  LOCKSTEP_EXCHANGE_HOOK(bits, type, weak, true)                                                              \
  LOCKSTEP_HOOK(type)                                                                                         \
  __tsan_atomic##bits##_compare_exchange_val(volatile type* p, type expected, type desired, int order, int) { \
    LOCKSTEP_NOTE_EXCHANGE(&expected);                                                                        \
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
    return expected;                                                                                          \
  }

LOCKSTEP_ATOMIC_HOOKS(8, std::int8_t)
LOCKSTEP_ATOMIC_HOOKS(16, std::int16_t)
LOCKSTEP_ATOMIC_HOOKS(32, std::int32_t)
LOCKSTEP_ATOMIC_HOOKS(64, std::int64_t)

// Not every processor has 16-byte atomics: all of them share a lock, as in libatomic.
namespace {

class WideLock {
 public:
  WideLock() {
    while (__atomic_test_and_set(&flag, __ATOMIC_ACQUIRE)) {
    }
  }
  ~WideLock() { __atomic_clear(&flag, __ATOMIC_RELEASE); }
  WideLock(const WideLock&) = delete;
  WideLock& operator=(const WideLock&) = delete;

 private:
  static inline bool flag = false;
};

template <typename Change>
Wide change_wide(volatile Wide* p, const Change& change) {
  const WideLock lock;
  const Wide old = *p;
  *p = change(old);
  return old;
}

}  // namespace

#define LOCKSTEP_WIDE_HOOK(name, expression)                                              \
  LOCKSTEP_HOOK(Wide) __tsan_atomic128_##name(volatile Wide* p, Wide value, int order) {  \
    LOCKSTEP_NOTE(kWrite);                                                                \
    return change_wide(p, [&]([[maybe_unused]] Wide old) -> Wide { return expression; }); \
  }
LOCKSTEP_WIDE_HOOK(exchange, value)
LOCKSTEP_WIDE_HOOK(fetch_add, old + value)
LOCKSTEP_WIDE_HOOK(fetch_sub, old - value)
LOCKSTEP_WIDE_HOOK(fetch_and, old& value)
LOCKSTEP_WIDE_HOOK(fetch_or, old | value)
LOCKSTEP_WIDE_HOOK(fetch_xor, old ^ value)
LOCKSTEP_WIDE_HOOK(fetch_nand, ~(old& value))

LOCKSTEP_HOOK(Wide) __tsan_atomic128_load(const volatile Wide* p, int order) {
  LOCKSTEP_NOTE(kPlainRead);
  const WideLock lock;
  return *p;
}
LOCKSTEP_HOOK(void) __tsan_atomic128_store(volatile Wide* p, Wide value, int order) {
  LOCKSTEP_NOTE(kWrite | kStoreOnly);
  change_wide(p, [&](Wide) { return value; });
}
LOCKSTEP_HOOK(Wide)
__tsan_atomic128_compare_exchange_val(volatile Wide* p, Wide expected, Wide desired, int order, int) {
  LOCKSTEP_NOTE_EXCHANGE(&expected);
  return change_wide(p, [&](Wide old) { return old == expected ? desired : old; });
}
#define LOCKSTEP_WIDE_EXCHANGE_HOOK(strength)                                                                    \
  LOCKSTEP_HOOK(int)                                                                                             \
  __tsan_atomic128_compare_exchange_##strength(volatile Wide* p, Wide* expected, Wide desired, int order, int) { \
    LOCKSTEP_NOTE_EXCHANGE(expected);                                                                            \
    const Wide wanted = *expected;                                                                               \
    *expected = change_wide(p, [&](Wide old) { return old == wanted ? desired : old; });                         \
    return *expected == wanted ? 1 : 0;                                                                          \
  }
LOCKSTEP_WIDE_EXCHANGE_HOOK(strong)
LOCKSTEP_WIDE_EXCHANGE_HOOK(weak)

LOCKSTEP_HOOK(void) __tsan_atomic_thread_fence(int order) {
  if (Checker* const checker = Checker::running;
      checker != nullptr && lockstep::emulator::current_thread() != nullptr) {
    if (releases(order)) checker->fence(true);
  }
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
LOCKSTEP_HOOK(void) __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#undef LOCKSTEP_HOOK
