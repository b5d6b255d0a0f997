#pragma once
/// @file
/// Turns a memory fault of a kernel into the kernel's failure, as a GPU would, in place of the end of the process.
#include <signal.h>

#include <array>
#include <cstddef>

#include "emulator/engine/execution.hpp"

namespace lockstep::emulator {

/// While it lives, faults of the thread that made it end the running kernel if they happen inside of one. Faults
/// outside go to whoever handled them before.
class FaultGuard {
 public:
  /// @param repair  Asked first about faults of the kernel on memory that is not accessible; may be null.
  explicit FaultGuard(FaultRepair repair);
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;
  ~FaultGuard();

  /// Segmentation faults, bus errors, integer division by zero, illegal instructions (what __builtin_trap makes).
  static constexpr std::size_t kSignals = 4;

 private:
  std::array<struct sigaction, kSignals> before_{};
};

}  // namespace lockstep::emulator
