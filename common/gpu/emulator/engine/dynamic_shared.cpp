#include "emulator/engine/dynamic_shared.hpp"

#include <sys/mman.h>

#include <cerrno>

#include "base/error.hpp"
#include "emulator/cuda/lockstep_emulator/export.h"

namespace lockstep::emulator {

namespace {

/// Inaccessible pages follow, so that far overruns fault in plain mode too.
std::byte* map_shared() {
  constexpr std::size_t kGuardBytes = 64 * 1024;
  void* memory = ::mmap(nullptr, kMaxDynamicShared + kGuardBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw IoError("emulator: no memory for shared memory", errno);
  auto* begin = static_cast<std::byte*>(memory);
  // The size is only a multiple of 1 KiB: the next 64 KiB boundary is a page boundary on every machine.
  constexpr std::size_t kEnd = (kMaxDynamicShared + kGuardBytes - 1) / kGuardBytes * kGuardBytes;
  static_cast<void>(::mprotect(begin + kEnd, kMaxDynamicShared + kGuardBytes - kEnd, PROT_NONE));
  return begin;
}

}  // namespace

std::byte* dynamic_shared_begin() noexcept {
  static std::byte* const kBegin = map_shared();
  return kBegin;
}

}  // namespace lockstep::emulator

// Translated sources declare it as a constant, so that reads of it are no accesses of a kernel.
LOCKSTEP_EMULATOR_API std::byte* lockstep_emulator_shared_memory = lockstep::emulator::dynamic_shared_begin();
