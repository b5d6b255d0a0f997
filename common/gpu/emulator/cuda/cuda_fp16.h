#pragma once
/// @file
/// Replaces CUDA's header of this name: half, its pair, conversions and arithmetic. Operations compute in float32 and
/// round once, to nearest with ties to even, as the hardware does (CUDA Math API, "Half Precision Intrinsics").
#include "lockstep_emulator/half.h"
#include "lockstep_emulator/half_functions.h"
#include "lockstep_emulator/half_pairs.h"
