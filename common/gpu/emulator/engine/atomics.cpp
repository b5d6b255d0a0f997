#include "emulator/cuda/lockstep_emulator/atomics.h"

#include <algorithm>
#include <cstdint>

#include "base/text.hpp"
#include "emulator/cuda/cuda_bf16.h"
#include "emulator/cuda/cuda_fp16.h"
#include "emulator/engine/block_runner.hpp"

// Threads take turns and are never interrupted within an operation, so plain reads and writes are atomic here.

namespace {

using lockstep::emulator::BlockRunner;
using lockstep::emulator::SourcePlace;

/// Checks the address, informs the checker, and lets others run now and then (a thread may wait for a lock).
/// @param expected  Of a compare-and-swap, else null.
template <typename T>
void begin_atomic(T* address, const T* expected, SourcePlace at) {
  if (lockstep::emulator::current_thread() == nullptr) return;  // host code may call the same functions
  BlockRunner& runner = BlockRunner::instance();
  if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) {
    lockstep::emulator::current_thread()->waiting_at = at;
    runner.end_kernel(
        {lockstep::emulator::EngineFindingKind::kMisalignedAddress,
         lockstep::concat("an atomic operation on ", sizeof(T), " bytes at an address that is not a multiple of that"),
         at,
         {}});
  }
  runner.note_possible_spin();
  if (lockstep::emulator::Observer* const observer = runner.kernel().observer())
    observer->atomic(address, sizeof(T), expected, at);
}

template <typename T, typename Next>
T apply(T* address, SourcePlace at, Next next, const T* expected = nullptr) {
  begin_atomic(address, expected, at);
  const T before = *address;
  *address = next(before);
  return before;
}

}  // namespace

// clang-format off
#define DEFINE_ATOMIC(name, type, expression) \
  type name(type* address, type value, SourcePlace at) { return apply(address, at, [=](type before) { return static_cast<type>(expression); }); }
#define DEFINE_FOR_INTEGERS(name, expression)              \
  DEFINE_ATOMIC(name, int, expression)                     \
  DEFINE_ATOMIC(name, unsigned int, expression)            \
  DEFINE_ATOMIC(name, unsigned long long int, expression)
#define DEFINE_CAS(type)                                                                \
  type atomicCAS(type* address, type expected, type value, SourcePlace at) {            \
    return apply(address, at, [=](type before) { return before == expected ? value : before; }, &expected); \
  }

// Signed sums wrap around, as in CUDA; in C++ only unsigned sums do.
DEFINE_ATOMIC(atomicAdd, int, static_cast<unsigned>(before) + static_cast<unsigned>(value))
DEFINE_ATOMIC(atomicSub, int, static_cast<unsigned>(before) - static_cast<unsigned>(value))
DEFINE_ATOMIC(atomicAdd, unsigned int, before + value)
DEFINE_ATOMIC(atomicSub, unsigned int, before - value)
DEFINE_ATOMIC(atomicAdd, unsigned long long int, before + value)
DEFINE_ATOMIC(atomicAdd, float, before + value)
DEFINE_ATOMIC(atomicAdd, double, before + value)
DEFINE_FOR_INTEGERS(atomicExch, (static_cast<void>(before), value))
DEFINE_ATOMIC(atomicExch, float, (static_cast<void>(before), value))
DEFINE_FOR_INTEGERS(atomicMin, std::min(before, value))
DEFINE_ATOMIC(atomicMin, long long int, std::min(before, value))
DEFINE_FOR_INTEGERS(atomicMax, std::max(before, value))
DEFINE_ATOMIC(atomicMax, long long int, std::max(before, value))
DEFINE_FOR_INTEGERS(atomicAnd, before & value)
DEFINE_FOR_INTEGERS(atomicOr, before | value)
DEFINE_FOR_INTEGERS(atomicXor, before ^ value)
DEFINE_ATOMIC(atomicInc, unsigned int, before >= value ? 0 : before + 1)
DEFINE_ATOMIC(atomicDec, unsigned int, before == 0 || before > value ? value : before - 1)
DEFINE_CAS(int)
DEFINE_CAS(unsigned int)
DEFINE_CAS(unsigned long long int)
DEFINE_CAS(unsigned short int)
// clang-format on

__nv_bfloat16 atomicAdd(__nv_bfloat16* address, __nv_bfloat16 value, SourcePlace at) {
  return apply(address, at, [=](__nv_bfloat16 before) { return before + value; });
}

__nv_bfloat162 atomicAdd(__nv_bfloat162* address, __nv_bfloat162 value, SourcePlace at) {
  return apply(address, at, [=](__nv_bfloat162 before) { return before + value; });
}

__half atomicAdd(__half* address, __half value, SourcePlace at) {
  return apply(address, at, [=](__half before) { return before + value; });
}

__half2 atomicAdd(__half2* address, __half2 value, SourcePlace at) {
  return apply(address, at, [=](__half2 before) { return before + value; });
}
