#pragma once
/// @file
/// What the runtime tells the checker.
#include "emulator/checker/findings.hpp"
#include "emulator/checker/shadow.hpp"
#include "emulator/checker/symbolizer.hpp"
#define LOCKSTEP_EMULATOR_WITH_CHECKER 1
