#pragma once
/// @file
/// The stacks of fibers: 64 KiB each, with a page below that nobody may touch. They are kept for the process's life.
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "emulator/engine/fiber.hpp"

namespace lockstep::emulator {

/// A stack and who waits on it.
struct Fiber {
  FiberContext context;         ///< Of the thread that waits on this stack.
  std::span<std::byte> stack;   ///< What the thread may use.
  const std::byte* guard = {};  ///< Begin of the page below.
};

/// Hands out fibers that stand at the beginning of `entry`, or wherever they were when they were given back.
class FiberPool {
 public:
  /// @param entry  Where each fiber begins.
  explicit FiberPool(void (*entry)()) : entry_(entry) {}

  /// A fiber that nobody uses.
  [[nodiscard]] Fiber& take();
  /// The fiber keeps its place; take() may hand it out again.
  void give_back(Fiber& fiber) { free_.push_back(&fiber); }
  /// Makes every fiber stand at the beginning again: after a kernel whose threads were given up.
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
