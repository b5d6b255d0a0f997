#pragma once
/// @file
/// Stacks for fibers: 64 KiB each, with an inaccessible page below. They are kept until the process ends.
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "emulator/engine/fiber.hpp"

namespace lockstep::emulator {

/// A stack and the context that is suspended on it.
struct Fiber {
  FiberContext context;         ///< Of the thread suspended on this stack.
  std::span<std::byte> stack;   ///< The thread's usable stack.
  const std::byte* guard = {};  ///< Start of the guard page below.
};

/// Hands out fibers, either at the start of `entry` or at their position when they were returned.
class FiberPool {
 public:
  /// @param entry  Entry function of every fiber.
  explicit FiberPool(void (*entry)()) : entry_(entry) {}

  /// An unused fiber.
  [[nodiscard]] Fiber& take();
  /// Takes particular fibers, which must be unused.
  void take(std::span<Fiber* const> fibers);
  /// Returns a fiber, which keeps its position.
  void give_back(Fiber& fiber) { free_.push_back(&fiber); }
  /// Restarts every fiber at `entry`, after a kernel whose threads were abandoned.
  void reset();
  /// The fiber whose guard page holds `address`, or null. Safe in a signal handler.
  [[nodiscard]] const Fiber* find_guard(const void* address) const noexcept;

 private:
  void grow();
  void prepare(Fiber& fiber) const;

  void (*entry_)();
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
};

}  // namespace lockstep::emulator
