#include "emulator/engine/stack_pool.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <unordered_set>

#include "base/error.hpp"
#include "emulator/engine/double_mapping.hpp"

/// AddressSanitizer's function, if the program has it: clears the marks that abandoned threads left on their stacks.
extern "C" __attribute__((weak, visibility("default"))) void __asan_unpoison_memory_region(const volatile void*,
                                                                                           std::size_t);

namespace lockstep::emulator {

namespace {

constexpr std::size_t kStackBytes = 64 * 1024;
// Stacks whose ends differ by multiples of a page compete for the same few cache lines. So ends are spread over a page,
// each one line further; a prime number of places separates neighbours at any power-of-two distance.
constexpr std::size_t kPlaces = 61, kLineBytes = 64, kSpreadBytes = 4096;

}  // namespace

Fiber& FiberPool::take() {
  if (free_.empty()) grow();
  Fiber& fiber = *free_.back();
  free_.pop_back();
  return fiber;
}

void FiberPool::take(std::span<Fiber* const> fibers) {
  const std::unordered_set<Fiber*> taken(fibers.begin(), fibers.end());
  std::erase_if(free_, [&](Fiber* fiber) { return taken.contains(fiber); });
}

void FiberPool::grow() {
  const std::size_t guard = page_bytes(), bytes = guard + kStackBytes + kSpreadBytes;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || ::mprotect(memory, guard, PROT_NONE) != 0) {
    throw IoError("emulator: no memory for the stack of another thread", errno);
  }
  auto fiber = std::make_unique<Fiber>();
  auto* begin = static_cast<std::byte*>(memory);
  fiber->guard = begin;
  fiber->stack = {begin + guard, kStackBytes + kSpreadBytes - fibers_.size() % kPlaces * kLineBytes};
  prepare(*fiber);
  free_.reserve(fibers_.size() + 1);
  free_.push_back(fiber.get());
  fibers_.push_back(std::move(fiber));
}

void FiberPool::prepare(Fiber& fiber) const { prepare_fiber(fiber.context, fiber.stack, entry_); }

void FiberPool::reset() {
  free_.clear();
  for (const auto& fiber : fibers_) {
    if (__asan_unpoison_memory_region != nullptr) {
      __asan_unpoison_memory_region(fiber->stack.data(), fiber->stack.size());
    }
    prepare(*fiber);
    free_.push_back(fiber.get());
  }
}

const Fiber* FiberPool::find_guard(const void* address) const noexcept {
  for (const auto& fiber : fibers_) {
    if (address >= fiber->guard && address < fiber->stack.data()) return fiber.get();
  }
  return nullptr;
}

}  // namespace lockstep::emulator
