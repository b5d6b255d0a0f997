// assert() in a kernel: the C library's function for a failed one is replaced, so that it ends the kernel and not the
// process.
#include <dlfcn.h>

#include <cstdlib>
#include <iostream>

#include "base/text.hpp"
#include "emulator/cuda/lockstep_emulator/export.h"
#include "emulator/engine/block_runner.hpp"

namespace lockstep::emulator {
namespace {

std::string extents(const uint3& index) { return concat("[", index.x, ",", index.y, ",", index.z, "]"); }

// As CUDA prints it (CUDA C++ Programming Guide, "Assertion").
std::string describe(const char* assertion, const char* file, unsigned line, const char* function) {
  return concat(file, ":", line, ": ", function == nullptr ? "unknown" : function,
                ": block: ", extents(current_block()->block_idx), ", thread: ", extents(current_thread()->thread_idx),
                " Assertion `", assertion, "` failed.");
}

}  // namespace
}  // namespace lockstep::emulator

extern "C" {

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that <assert.h> calls
[[noreturn]] LOCKSTEP_EMULATOR_API void __assert_fail(const char* assertion, const char* file, unsigned line,
                                                      const char* function) noexcept {
  using namespace lockstep::emulator;
  if (current_thread() != nullptr) {
    const std::string message = describe(assertion, file, line, function);
    std::cerr << message + "\n";
    current_thread()->waiting_at = {file, line};
    BlockRunner::instance().kernel().fail(message, cudaErrorAssert);
    BlockRunner::instance().threads().abandon();
  }
  using Replaced = void (*)(const char*, const char*, unsigned, const char*);
  if (void* const replaced = ::dlsym(RTLD_NEXT, "__assert_fail")) {
    reinterpret_cast<Replaced>(replaced)(assertion, file, line, function);
  }
  std::abort();
}

}  // extern "C"
