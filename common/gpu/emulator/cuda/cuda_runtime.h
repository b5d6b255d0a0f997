#pragma once
/// @file
/// Replaces CUDA's header of this name: the same functions, run by the emulator.
#include "cuda_runtime_api.h"
#include "device_launch_parameters.h"
#include "lockstep_emulator/atomics.h"
#include "lockstep_emulator/launch.h"
#include "lockstep_emulator/launch_config.h"
#include "lockstep_emulator/math.h"
#include "lockstep_emulator/memory.h"
#include "lockstep_emulator/qualifiers.h"
#include "lockstep_emulator/synchronization.h"
#include "lockstep_emulator/warp.h"
#include "vector_functions.h"
#include "vector_types.h"
