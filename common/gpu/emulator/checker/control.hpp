#pragma once
/// @file
/// Switches checked mode and metrics on. The environment sets their initial state: LOCKSTEP_EMULATOR_CHECK=1 and
/// LOCKSTEP_EMULATOR_METRICS=1. If a program with findings would end with 0, LOCKSTEP_EMULATOR_EXIT is its exit status
/// (86 unless set; 0 leaves it).
#include "emulator/cuda/lockstep_emulator/export.h"

namespace lockstep::emulator {

/// From the next launch on, checks kernels that were compiled for checking.
LOCKSTEP_EMULATOR_API void enable_checks(bool is_on);
/// From the next launch on, counts requests of kernels that were compiled for checking.
LOCKSTEP_EMULATOR_API void enable_metrics(bool is_on);
/// As set here or by the environment.
LOCKSTEP_EMULATOR_API bool checks_enabled();
/// As set here or by the environment.
LOCKSTEP_EMULATOR_API bool metrics_enabled();

}  // namespace lockstep::emulator
