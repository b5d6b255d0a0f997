#pragma once
/// @file
/// Records how a program launches its kernels, which their results do not show.
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/checker/findings.hpp"
#include "emulator/cuda/lockstep_emulator/export.h"
#include "emulator/cuda/lockstep_emulator/kernel_call.h"

namespace lockstep::emulator {

/// A launch, reduced to properties that can differ between launches of the same line.
struct Launch {
  std::string kernel;                 ///< Empty if unknown.
  FindingPlace place;                 ///< Of the launch.
  std::uint64_t blocks = 0;           ///< Of the grid.
  std::uint64_t threads = 0;          ///< Of a block.
  bool is_in_default_stream = false;  ///< True without a fourth launch argument.
};

/// The distinct launches of this process, in the order first seen. Recorded in checked mode only. Thread safety: from
/// any thread.
LOCKSTEP_EMULATOR_API std::vector<Launch> launches();

/// Records a launch. Internal to the runtime.
void note_launch(const KernelCall& call, bool is_in_default_stream);

}  // namespace lockstep::emulator
