#pragma once
/// @file
/// Replaces CUDA's header of this name: the runtime's C functions. They behave as in the CUDA Runtime API; the comments
/// note how an emulated device differs. Calls that copy or allocate record their source place for reports.
#include <cstddef>

#include "driver_types.h"
#include "lockstep_emulator/api_copy.h"
#include "lockstep_emulator/api_device.h"
#include "lockstep_emulator/api_graph.h"
#include "lockstep_emulator/api_kernel.h"
#include "lockstep_emulator/api_memory.h"
#include "lockstep_emulator/api_pitched.h"
#include "lockstep_emulator/api_pools.h"
#include "lockstep_emulator/api_stream.h"
#include "lockstep_emulator/export.h"
#include "vector_types.h"
