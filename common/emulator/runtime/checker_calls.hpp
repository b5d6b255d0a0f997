#pragma once
/// @file
/// What the runtime tells the checker, and nothing where a build has none.
#if __has_include("emulator/checker/shadow.hpp")
#include "emulator/checker/findings.hpp"
#include "emulator/checker/shadow.hpp"
#include "emulator/checker/symbolizer.hpp"
#define LOCKSTEP_EMULATOR_WITH_CHECKER 1
#else
#include <cstddef>
#define LOCKSTEP_EMULATOR_WITH_CHECKER 0
namespace lockstep::emulator {
inline void host_wrote(const void*, std::size_t) {}
inline void host_read(const void*, std::size_t) {}
inline void forget(const void*, std::size_t) {}
inline void allow_host_memory(const void*, std::size_t) {}
inline void disallow_host_memory(const void*) {}
inline void report_host_access(const void*, const void*) {}
}  // namespace lockstep::emulator
#endif
