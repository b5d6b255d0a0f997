#pragma once
/// @file
/// How a program launches its kernels: what cannot be seen in their results.
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/checker/findings.hpp"
#include "emulator/cuda/lockstep_emulator/export.h"
#include "emulator/cuda/lockstep_emulator/kernel_call.h"

namespace lockstep::emulator {

/// A launch, as far as launches of the same line can differ.
struct Launch {
  std::string kernel;                 ///< Its name; empty where unknown.
  FindingPlace place;                 ///< Of the launch.
  std::uint64_t blocks = 0;           ///< Of the grid.
  std::uint64_t threads = 0;          ///< Of a block.
  bool is_in_default_stream = false;  ///< Where a launch without a fourth argument goes.
};

/// The launches of this process that differ from each other, in the order in which they were first seen. Kept in
/// checked mode only. Thread safety: from any thread.
LOCKSTEP_EMULATOR_API std::vector<Launch> launches();

/// Keeps one. Internal to the runtime.
void note_launch(const KernelCall& call, bool is_in_default_stream);

}  // namespace lockstep::emulator
