#pragma once
/// @file
/// Replaces CUDA's header of this name: threadIdx, blockIdx, blockDim, gridDim, warpSize.
#include "lockstep_emulator/builtin_variables.h"
