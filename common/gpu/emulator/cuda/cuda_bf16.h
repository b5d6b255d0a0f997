#pragma once
/// @file
/// Replaces CUDA's header of this name: bfloat16, its pair, conversions and arithmetic. Operations compute in float32
/// and round once, to nearest with ties to even, as the hardware does (CUDA Math API, "Bfloat16 Precision Intrinsics").
#include "lockstep_emulator/bfloat16.h"
#include "lockstep_emulator/bfloat16_functions.h"
#include "lockstep_emulator/bfloat16_pairs.h"
