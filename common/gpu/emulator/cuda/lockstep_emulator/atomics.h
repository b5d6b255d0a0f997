#pragma once
/// @file
/// Atomic operations (CUDA C++ Programming Guide, "Atomic Functions"): each returns the old value. Blocks and threads
/// take turns, so each operation is one step; the forms for a block or the whole system are the same.
#include "export.h"
#include "source_place.h"

// clang-format off
#define LOCKSTEP_EMULATOR_ATOMIC(name, type)                                                                                   \
  LOCKSTEP_EMULATOR_API type name(type* address, type value,                                                                  \
                                  lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here());             \
  inline type name##_block(type* address, type value,                                                                         \
                           lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {                    \
    return name(address, value, at);                                                                                           \
  }                                                                                                                            \
  inline type name##_system(type* address, type value,                                                                        \
                            lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {                   \
    return name(address, value, at);                                                                                           \
  }
#define LOCKSTEP_EMULATOR_INTEGER_ATOMIC(name)            \
  LOCKSTEP_EMULATOR_ATOMIC(name, int)                     \
  LOCKSTEP_EMULATOR_ATOMIC(name, unsigned int)            \
  LOCKSTEP_EMULATOR_ATOMIC(name, unsigned long long int)

LOCKSTEP_EMULATOR_INTEGER_ATOMIC(atomicAdd)
LOCKSTEP_EMULATOR_ATOMIC(atomicAdd, float)
LOCKSTEP_EMULATOR_ATOMIC(atomicAdd, double)
LOCKSTEP_EMULATOR_ATOMIC(atomicSub, int)
LOCKSTEP_EMULATOR_ATOMIC(atomicSub, unsigned int)
LOCKSTEP_EMULATOR_INTEGER_ATOMIC(atomicExch)
LOCKSTEP_EMULATOR_ATOMIC(atomicExch, float)
LOCKSTEP_EMULATOR_INTEGER_ATOMIC(atomicMin)
LOCKSTEP_EMULATOR_ATOMIC(atomicMin, long long int)
LOCKSTEP_EMULATOR_INTEGER_ATOMIC(atomicMax)
LOCKSTEP_EMULATOR_ATOMIC(atomicMax, long long int)
LOCKSTEP_EMULATOR_INTEGER_ATOMIC(atomicAnd)
LOCKSTEP_EMULATOR_INTEGER_ATOMIC(atomicOr)
LOCKSTEP_EMULATOR_INTEGER_ATOMIC(atomicXor)
LOCKSTEP_EMULATOR_ATOMIC(atomicInc, unsigned int)
LOCKSTEP_EMULATOR_ATOMIC(atomicDec, unsigned int)

#define LOCKSTEP_EMULATOR_ATOMIC_CAS(type)                                                                                     \
  LOCKSTEP_EMULATOR_API type atomicCAS(type* address, type expected, type value,                                              \
                                       lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here());
LOCKSTEP_EMULATOR_ATOMIC_CAS(int)
LOCKSTEP_EMULATOR_ATOMIC_CAS(unsigned int)
LOCKSTEP_EMULATOR_ATOMIC_CAS(unsigned long long int)
LOCKSTEP_EMULATOR_ATOMIC_CAS(unsigned short int)

#undef LOCKSTEP_EMULATOR_ATOMIC_CAS
#undef LOCKSTEP_EMULATOR_INTEGER_ATOMIC
#undef LOCKSTEP_EMULATOR_ATOMIC
// clang-format on
