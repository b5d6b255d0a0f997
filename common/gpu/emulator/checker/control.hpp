#pragma once
/// @file
/// Switches checked mode and metrics on. The environment does it at start: LOCKSTEP_EMULATOR_CHECK=1 and
/// LOCKSTEP_EMULATOR_METRICS=1; LOCKSTEP_EMULATOR_EXIT is the exit status of a program with findings that would have
/// ended with 0 (86 unless set; 0 leaves it).
#include "emulator/cuda/lockstep_emulator/export.h"

namespace lockstep::emulator {

/// From the next launch on, kernels that were compiled checked are checked.
LOCKSTEP_EMULATOR_API void enable_checks(bool is_on);
/// From the next launch on, requests of kernels that were compiled checked are counted.
LOCKSTEP_EMULATOR_API void enable_metrics(bool is_on);
/// As set or asked for by the environment.
LOCKSTEP_EMULATOR_API bool checks_enabled();
/// As set or asked for by the environment.
LOCKSTEP_EMULATOR_API bool metrics_enabled();

}  // namespace lockstep::emulator
