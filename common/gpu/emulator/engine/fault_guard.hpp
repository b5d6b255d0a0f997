#pragma once
/// @file
/// Turns a kernel's memory fault into a failure of the kernel, as on a GPU, instead of ending the process.
#include <signal.h>

#include <array>
#include <cstddef>

#include "emulator/engine/execution.hpp"

namespace lockstep::emulator {

/// While it lives, a fault of the thread that made it ends the running kernel, if it occurs inside one. Other faults go
/// to the previous handler.
class FaultGuard {
 public:
  /// @param repair  Tried first if a kernel faults on inaccessible memory; may be null.
  explicit FaultGuard(FaultRepair repair);
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;
  ~FaultGuard();

  /// Segmentation faults, bus errors, integer division by zero, illegal instructions (from __builtin_trap).
  static constexpr std::size_t kSignals = 4;

 private:
  std::array<struct sigaction, kSignals> before_{};
};

}  // namespace lockstep::emulator
