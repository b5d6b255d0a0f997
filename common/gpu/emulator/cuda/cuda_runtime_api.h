#pragma once
/// @file
/// In place of CUDA's header of this name: the runtime's C functions. What they do is CUDA's (CUDA Runtime API); the
/// comments say where an emulated device differs. Calls that copy or allocate remember where they stand, for reports.
#include <cstddef>

#include "driver_types.h"
#include "lockstep_emulator/api_copy.h"
#include "lockstep_emulator/api_device.h"
#include "lockstep_emulator/api_kernel.h"
#include "lockstep_emulator/api_memory.h"
#include "lockstep_emulator/api_stream.h"
#include "lockstep_emulator/export.h"
#include "vector_types.h"
